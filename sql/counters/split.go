package counters

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// Bounds of what may be split.
const (
	MaxParts     = 1024           // of a document
	maxDocuments = 64             // of a table
	maxCounters  = 32             // of a table
	joinedFor    = 48 * time.Hour // joined documents are remembered for longer than any snapshot lasts
)

// Document is a document that is about to be split or joined, in a transaction that has its table
// to itself.
type Document struct {
	ctx   context.Context
	x     *stmt.Executor
	t     *tx.Tx
	table *catalog.Table // as it is going to be
	key   types.Datum
	code  []byte // the encoded key
	id    string // its text form
	which []int32
}

// NewDocument finds the document of a table with an id. The table is not changed.
func NewDocument(
	ctx context.Context, x *stmt.Executor, t *tx.Tx, table *catalog.Table, id string,
) (*Document, error) {
	d := &Document{ctx: ctx, x: x, t: t, table: table.Clone()}
	return d, d.find(id)
}

// find reads the key of the document, and forgets documents that were joined long ago.
func (d *Document) find(id string) error {
	const keyed = "The primary key has to be one column of type text, character varying, an integer or uuid."
	refuse := func(format string, args ...any) error {
		why := fmt.Sprintf(format, args...)
		return pgerr.Unsupported(`documents of table "%s" cannot be split: %s`, d.table.Name, why).WithHint(keyed)
	}
	switch pk := d.table.PrimaryKey(); {
	case pk == nil:
		return refuse("it has no primary key")
	case len(pk.Columns) != 1:
		return refuse("its primary key is not one column")
	}
	column := KeyColumn(d.table)
	switch column.Type {
	case types.Text, types.VarChar, types.Int2, types.Int4, types.Int8, types.UUID:
	default:
		return refuse("its primary key is of type %s", types.TypeName(column.Type))
	}
	var err error
	if d.key, err = types.Input(column.Type, -1, id, d.x.Values); err != nil {
		return err
	}
	d.id = types.Output(column.Type, d.key, d.x.Values)
	if d.code, err = table.EncodedKey(d.table, types.Row{d.key}); err != nil {
		return err
	}
	if h := d.table.Hot; h != nil {
		old := time.Now().Add(-joinedFor).UnixMicro()
		h.Documents = slices.DeleteFunc(h.Documents, func(x catalog.HotDocument) bool {
			return x.Joined != 0 && x.Joined < old
		})
	}
	return nil
}

// Split makes the parts of the document, for the counters that were declared. role is noted in the
// definition; newOID returns an OID that is not in use.
func (d *Document) Split(parts int, role string, newOID func(context.Context) (catalog.OID, error)) error {
	h := d.table.Hot
	if err := d.forgetDeleted(); err != nil {
		return err
	}
	if h.DocumentAt(d.code) != nil {
		table := builtin.QuoteLiteral(builtin.QuoteIdent(d.table.Name))
		return pgerr.New(pgerr.DuplicateObject, `document "%s" of table "%s" is split already`, d.id, d.table.Name).
			WithHint("SELECT sherd.hot_join(%s, %s) makes it whole.", table, builtin.QuoteLiteral(d.id))
	}
	active := 0
	for i := range h.Documents {
		if h.Documents[i].Joined == 0 {
			active++
		}
	}
	if active >= maxDocuments {
		return pgerr.New(pgerr.ProgramLimitExceeded,
			`table "%s" has %d split documents, and cannot have more`, d.table.Name, maxDocuments)
	}
	h.Documents = append(h.Documents, catalog.HotDocument{
		Number: h.Next, ID: d.id, Key: d.code, Parts: partsOf(h.Next, parts), Counters: d.which,
		Since: time.Now().UnixMicro(), Who: role,
	})
	h.Next++
	if err := d.define(newOID); err != nil {
		return err
	}
	return d.fill(&h.Documents[len(h.Documents)-1])
}

// partsOf returns keys for the parts of a document, so that each part lies in a range of its own of
// the buckets: the parts are spread over the fragments as the buckets are.
func partsOf(number int32, n int) []int64 {
	out := make([]int64, n)
	for left, k := n, catalog.FirstPart(number); left > 0; k++ {
		at := int(uint64(shardmap.HashBucket(strconv.FormatInt(k, 10))) * uint64(n) / shardmap.BucketCount)
		if out[at] == 0 {
			out[at] = k
			left--
		}
	}
	return out
}

// forgetDeleted marks deleted documents as joined: one that was inserted again is whole.
func (d *Document) forgetDeleted() error {
	split, err := SplitNow(d.ctx, d.x, d.t, d.t.View(), d.table)
	if err != nil {
		return err
	}
	for i := range d.table.Hot.Documents {
		if x := &d.table.Hot.Documents[i]; x.Joined == 0 && !split[x.Number] {
			x.Joined = time.Now().UnixMicro()
		}
	}
	return nil
}

// define puts the table as it is going to be, and its table of parts, into the transaction's change
// of definitions.
func (d *Document) define(newOID func(context.Context) (catalog.OID, error)) error {
	var oid, constraint catalog.OID
	if d.table.Hot.Parts == 0 {
		var err error
		if oid, err = newOID(d.ctx); err == nil {
			constraint, err = newOID(d.ctx)
		}
		if err != nil {
			return err
		}
		d.table.Hot.Parts = oid
	}
	return d.t.ChangeSchema(d.ctx, func(v *catalog.View, ch *catalog.Change) error {
		parts := catalog.NewPartsTable(d.table, d.table.Hot.Parts, constraint)
		if oid == 0 {
			parts = v.Table(d.table.Hot.Parts).Clone()
		}
		before := len(parts.Columns)
		for len(parts.Columns) < catalog.AddedColumn(len(d.table.Hot.Counters)) {
			parts.AddCounter()
		}
		if oid != 0 || len(parts.Columns) > before {
			if err := ch.PutTable(parts); err != nil {
				return err
			}
		}
		return ch.PutTable(d.table)
	})
}

// fold returns the fold of the document's table, by the definitions that the transaction sees now.
func (d *Document) fold() *fold {
	view := d.t.View()
	return newFold(d.ctx, d.x, d.t, view, view.Table(d.table.OID), view.Table(d.table.Hot.Parts))
}

// fill writes the document's parts. It writes the document's own row too, unchanged, so that a
// transaction that has seen the document before it was split gets a conflict when it writes the
// row.
func (d *Document) fill(doc *catalog.HotDocument) error {
	f := d.fold()
	bases, there, err := f.bases(doc)
	if err != nil {
		return err
	}
	if !there {
		return pgerr.New(pgerr.UndefinedObject, `document "%s" does not exist in table "%s"`, d.id, d.table.Name)
	}
	if err := f.addToDocument(doc, noSums(f.table)); err != nil {
		return err
	}
	columns, values := "k, d", "$1, $2"
	params, args := []types.OID{types.Int8, types.Int8}, []types.Datum{types.Null, types.NewInt(int64(doc.Number))}
	for _, n := range doc.Counters {
		params, args = append(params, types.Numeric), append(args, bases[n])
		columns += fmt.Sprintf(", c%d, b%d", n, n)
		values += fmt.Sprintf(", 0, $%d", len(args))
	}
	text := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", stmt.TableName(f.view, f.parts), columns, values)
	p, err := stmt.HiddenProgram(f.view, d.table.Database, text, params...)
	if err != nil {
		return err
	}
	for _, k := range doc.Parts {
		args[0] = types.NewInt(k)
		if _, err := d.x.Run(d.ctx, d.t, p, args, nil); err != nil {
			return err
		}
	}
	return nil
}

func noSums(t *catalog.Table) []types.Datum {
	out := make([]types.Datum, len(t.Hot.Counters))
	for i := range out {
		out[i] = types.NumericFromInt(0)
	}
	return out
}

// Join adds the parts to the document and deletes them.
func (d *Document) Join() error {
	var doc *catalog.HotDocument
	if d.table.Hot != nil {
		doc = d.table.Hot.DocumentAt(d.code)
	}
	if doc == nil {
		return pgerr.New(pgerr.UndefinedObject, `document "%s" of table "%s" is not split`, d.id, d.table.Name).
			WithHint("sherd.hot_documents lists those that are.")
	}
	f := d.fold()
	sums, _, err := f.lockParts([]*catalog.HotDocument{doc})
	if err != nil {
		return err
	}
	if sum := sums[doc.Number]; sum != nil {
		if err := f.addToDocument(doc, sum); err != nil {
			return err
		}
		text := fmt.Sprintf("DELETE FROM %s WHERE k = ANY($1)", stmt.TableName(f.view, f.parts))
		if err := f.run(aboutParts(text, doc), nil); err != nil {
			return err
		}
	}
	doc.Joined = cmp.Or(time.Now().UnixMicro(), 1)
	return d.t.ChangeSchema(d.ctx, func(_ *catalog.View, ch *catalog.Change) error { return ch.PutTable(d.table) })
}

// SplitNow returns the numbers of the documents of a table that are split as the transaction sees
// it: those that are split by the definition and have parts. A deleted document has no parts, and
// one that was inserted again under its id is whole.
func SplitNow(
	ctx context.Context, x *stmt.Executor, t *tx.Tx, view *catalog.View, table *catalog.Table,
) (map[int32]bool, error) {
	var first []types.Datum // a document has all of its parts or none
	for i := range table.Hot.Documents {
		if d := &table.Hot.Documents[i]; d.Joined == 0 {
			first = append(first, types.NewInt(d.Parts[0]))
		}
	}
	parts := view.Table(table.Hot.Parts)
	if len(first) == 0 || parts == nil {
		return nil, nil
	}
	split := map[int32]bool{}
	text := fmt.Sprintf("SELECT d FROM %s WHERE k = ANY($1)", stmt.TableName(view, parts))
	st := stmt.Hidden{Text: text, Params: []types.OID{types.Int8Array}, Args: []types.Datum{int8Array(first)}}
	_, err := x.Against(view).Hidden(ctx, t, st, func(row []types.Datum) error {
		split[int32(row[0].N)] = true
		return nil
	})
	return split, err
}
