package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// Hot describes the split documents of a table. Additions to their counters are stored in parts,
// which are rows of a separate table, spread over the fragments. The value of a counter is the
// value in the document's own row plus the sum of its parts.
type Hot struct {
	Parts     OID       // the table of the parts, see NewPartsTable
	Counters  []Counter // of all documents; each has two columns in the table of the parts
	Documents []HotDocument
	Next      int32 // the number of the next document
}

// Counter is a number in the rows of a table: a column, or a path of keys into a jsonb column.
type Counter struct {
	Column int16
	Path   []string
}

// Equal reports whether two counters are the same.
func (c Counter) Equal(o Counter) bool { return c.Column == o.Column && slices.Equal(c.Path, o.Path) }

// Name spells a counter as the options of its table do.
func (c Counter) Name(t *Table) string {
	if len(c.Path) > 0 {
		return strings.Join(c.Path, ".")
	}
	if col := t.ColumnByNum(c.Column); col != nil {
		return col.Name
	}
	return ""
}

// HotDocument is a document that is split now, or was split.
type HotDocument struct {
	Number   int32   // in its table's parts; never reused
	ID       string  // the text form of its key
	Key      []byte  // its encoded primary key
	Parts    []int64 // the keys of its parts
	Counters []int32 // positions in Hot.Counters
	Since    int64   // microseconds since 1970
	Who      string
	// Joined is the time at which the document was made whole again; 0 means that it is split.
	// Readers at earlier timestamps still need its parts.
	Joined int64
}

// Columns of a table of parts. Each counter has two more: what the part adds to it, and its value
// in the document's own row, which is null if that is not a number.
const (
	PartKey      int16 = 1
	PartDocument int16 = 2
	partFixed          = 2
)

// AddedColumn returns the position of the column with the amount that a part adds to a counter.
func AddedColumn(counter int) int { return partFixed + 2*counter }

// BaseColumn returns the position of the column with a counter's value in the document's own row.
func BaseColumn(counter int) int { return partFixed + 2*counter + 1 }

// FirstPart returns the smallest key of a document's parts.
func FirstPart(document int32) int64 { return int64(document) << 32 }

// DocumentOfPart returns the number of the document that a part belongs to.
func DocumentOfPart(key int64) int32 { return int32(key >> 32) }

// Document returns a document that is or was split, by its number, nil if there is none.
func (h *Hot) Document(number int32) *HotDocument {
	for i := range h.Documents {
		if h.Documents[i].Number == number {
			return &h.Documents[i]
		}
	}
	return nil
}

// DocumentAt returns a document that is split now, by its encoded primary key.
func (h *Hot) DocumentAt(key []byte) *HotDocument {
	for i := range h.Documents {
		if d := &h.Documents[i]; d.Joined == 0 && string(d.Key) == string(key) {
			return d
		}
	}
	return nil
}

// Splits reports whether a document is split now.
func (h *Hot) Splits() bool {
	return h != nil && slices.ContainsFunc(h.Documents, func(d HotDocument) bool { return d.Joined == 0 })
}

// Clone returns a copy that may be changed (K1).
func (h *Hot) Clone() *Hot {
	if h == nil {
		return nil
	}
	c := *h
	c.Counters, c.Documents = slices.Clone(h.Counters), slices.Clone(h.Documents)
	return &c
}

// check checks the list without looking at other objects.
func (h *Hot) check() error {
	if h == nil {
		return nil
	}
	if h.Parts == 0 {
		return errors.New("split documents without a table for their parts")
	}
	last := int32(0)
	for i := range h.Documents {
		d := &h.Documents[i]
		if d.Number <= last || d.Number >= h.Next || len(d.Key) == 0 || len(d.Parts) == 0 {
			return fmt.Errorf("split document %d is out of order, or has no key or no parts", d.Number)
		}
		last = d.Number
		for _, n := range d.Counters {
			if n < 0 || int(n) >= len(h.Counters) {
				return fmt.Errorf("split document %d has counter %d of %d", d.Number, n, len(h.Counters))
			}
		}
	}
	return nil
}

// NewPartsTable returns the table for the parts of t's split documents. constraint is the OID of
// its primary key. Only t.Hot refers to it.
func NewPartsTable(t *Table, oid, constraint OID) *Table {
	return &Table{
		OID: oid, StorageID: oid, Kind: KindParts, HotOf: t.OID, Database: t.Database, Schema: t.Schema, Owner: t.Owner,
		Name: fmt.Sprintf("sherd_parts_%d", t.OID), NextAttNum: partFixed + 1,
		Columns: []Column{
			{AttNum: PartKey, Name: "k", Type: int8OID, Typmod: -1, NotNull: true},
			{AttNum: PartDocument, Name: "d", Type: int8OID, Typmod: -1, NotNull: true},
		},
		Constraints: []Constraint{{OID: constraint, Name: "parts_key", Kind: PrimaryKey, Columns: []int16{PartKey},
			Valid: true}},
	}
}

// AddCounter adds the columns of one more counter to a table of parts.
func (t *Table) AddCounter() {
	n := (len(t.Columns) - partFixed) / 2
	for _, name := range []string{fmt.Sprintf("c%d", n), fmt.Sprintf("b%d", n)} {
		t.Columns = append(t.Columns, Column{AttNum: t.NextAttNum, Name: name, Type: numericOID, Typmod: -1})
		t.NextAttNum++
	}
}

const numericOID OID = 1700

func encodeHot(h *Hot) *pb.Hot {
	if h == nil {
		return nil
	}
	p := &pb.Hot{Parts: h.Parts, Next: h.Next}
	for _, c := range h.Counters {
		p.Counters = append(p.Counters, &pb.Counter{Column: int32(c.Column), Path: c.Path})
	}
	for _, d := range h.Documents {
		p.Documents = append(p.Documents, &pb.HotDocument{
			Number: d.Number, Id: d.ID, Key: d.Key, Parts: d.Parts, Counters: d.Counters, Since: d.Since, Who: d.Who,
			Joined: d.Joined,
		})
	}
	return p
}

func (d *attNumDecoder) hot(p *pb.Hot) *Hot {
	if p == nil {
		return nil
	}
	h := &Hot{Parts: p.GetParts(), Next: p.GetNext()}
	for _, c := range p.GetCounters() {
		h.Counters = append(h.Counters, Counter{Column: d.num(c.GetColumn()), Path: c.GetPath()})
	}
	for _, x := range p.GetDocuments() {
		h.Documents = append(h.Documents, HotDocument{
			Number: x.GetNumber(), ID: x.GetId(), Key: x.GetKey(), Parts: x.GetParts(), Counters: x.GetCounters(),
			Since: x.GetSince(),
			Who:   x.GetWho(), Joined: x.GetJoined(),
		})
	}
	return h
}

// keepsCounters refuses a change of a table that has split documents if constraints, indexes or
// generated columns are added, columns with counters are changed, or the rows are rewritten: the
// documents' own rows do not contain the values of the counters.
func (t *Table) keepsCounters(old *Table) error {
	if !old.Hot.Splits() || t.Hot == nil {
		return nil
	}
	what := ""
	for _, k := range t.Constraints {
		if before := old.Constraint(k.Name); before == nil || before.Valid != k.Valid || before.Kind != k.Kind {
			what = "constraints are added"
		}
	}
	for i := range t.Indexes {
		if old.Index(t.Indexes[i].OID) == nil {
			what = "indexes are added"
		}
	}
	for _, c := range t.Hot.Counters {
		a, b := old.ColumnByNum(c.Column), t.ColumnByNum(c.Column)
		if a != nil && (b == nil || a.Type != b.Type || a.Typmod != b.Typmod || a.Dropped != b.Dropped ||
			a.Generated != b.Generated) {
			what = "columns with counters are changed"
		}
	}
	for i := range t.Columns {
		if c := old.ColumnByNum(t.Columns[i].AttNum); t.Columns[i].Generated != "" &&
			(c == nil || c.Generated != t.Columns[i].Generated) {
			what = "generated columns are added"
		}
	}
	switch {
	case t.StorageID != old.StorageID:
		what = "rows are rewritten"
	case t.Anchors != old.Anchors || t.Document != old.Document || !samePolicy(t.Policy, old.Policy):
		what = "its placement changes"
	}
	if what == "" {
		return nil
	}
	return pgerr.Unsupported(`table "%s" has split documents, which have to be whole when %s`, t.Name, what).
		WithHint("sherd.hot_join() makes each of them whole: %s. One that was deleted while it was split counts "+
			"until then.", old.Hot.splitNames())
}

// splitNames returns the names of the split documents for a message.
func (h *Hot) splitNames() string {
	var names []string
	for i := range h.Documents {
		if h.Documents[i].Joined == 0 {
			names = append(names, fmt.Sprintf("%q", h.Documents[i].ID))
		}
	}
	if more := len(names) - shownSplit; more > 0 {
		names = append(names[:shownSplit], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

const shownSplit = 5 // documents that a hint names

func samePolicy(a, b *shardmap.Policy) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(b)
}
