package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Conditions between rows of several fragments, proved without a session. Each side is read once,
// and hashes of its keys are compared with the other side's, part by part, so that memory is
// bounded. Only if some are missing, the rows are read again to name them.

// Part is a fragment that References reads.
type Part struct {
	ID    txn.FragmentID
	View  exec.Reader // of all parts at one timestamp
	Moved []Owned     // at that timestamp, as in Fragment
	Added bool
	// Dropping are the spans that the fragment is deleting.
	Dropping []txn.Span
}

// side is a list of columns of a table.
type side struct {
	def     *catalog.Table
	columns []*catalog.Column
	at      []int // their positions
}

// relation is a condition to prove: the keys of one side are among those of others.
type relation struct {
	check, subject, unit string
	skip                 string // why it is not proved
	// set to prove the parts of this table's documents; the fields below are not used then
	split *catalog.Table
	from  side
	to    []side
	full  bool // partly null keys are faults
	apart bool // keys of from must not be among the others
	home  func(key types.Row) (shardmap.Bucket, error)
	says  func(key types.Row) string // the text about a faulty key
}

// References proves the foreign keys, former ids and parts of split documents in the given parts.
// References to rows that lie in none of them are counted but not checked. newest is set if the
// parts are read at the end of the log, and not at an earlier time, at which other documents may
// have been split.
func (c *Check) References(ctx context.Context, parts []Part, newest bool, scratch string) error {
	r := &references{Check: c, parts: parts, settled: newest && !c.lags, scratch: scratch}
	for i := range parts {
		owned := parts[i].owned(c.db.Map)
		r.has, r.here = append(r.has, owned), r.here.Union(owned)
	}
	r.whole = c.db.Map.All().Minus(r.here).IsEmpty()
	for _, x := range c.relations() {
		if err := r.prove(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// NoReferences notes why the conditions of References are not checked.
func (c *Check) NoReferences(why string) {
	for _, x := range c.relations() {
		c.finding(x.check, x.subject, x.unit).said = NotChecked + why
	}
}

// NotChecked is the prefix of details about conditions that cannot be proved.
const NotChecked = "not checked: "

// relations returns the conditions to prove.
func (c *Check) relations() (out []*relation) {
	tables := slices.Collect(c.view.Tables(c.db.OID))
	name := func(t *catalog.Table) string {
		if s := c.view.Schema(t.Schema); s != nil {
			return s.Name + "." + t.Name
		}
		return t.Name
	}
	slices.SortFunc(tables, func(a, b *catalog.Table) int { return cmp.Compare(name(a), name(b)) })
	for _, t := range tables {
		for _, k := range refint.From(c.view, t) {
			x := c.foreignKey(k)
			x.subject = name(t) + " " + k.Con.Name
			out = append(out, x)
		}
		if e := c.view.Table(t.Forwarding); t.Forwarding != 0 && e != nil {
			out = append(out, formerIDs(t, e, name(t))...)
		}
		if t.Hot != nil && c.view.Table(t.Hot.Parts) != nil {
			out = append(out, &relation{check: "split documents", subject: name(t), unit: "documents", split: t})
		}
	}
	return out
}

func (c *Check) foreignKey(k *refint.Key) *relation {
	x := &relation{check: "foreign key", unit: "keys", full: k.Con.Reference.Match == catalog.MatchFull}
	switch {
	case !k.Con.Valid:
		x.skip = "it is NOT VALID"
		return x
	case !k.Plain():
		x.skip = "equal values of its two sides are not written alike, so it takes a server"
		return x
	}
	x.from, x.to = sideOf(k.Child, k.Columns), []side{sideOf(k.Parent, k.Referenced)}
	x.says = func(key types.Row) string { return k.Broken(key, &types.Env{}).Detail }
	// rows may still refer to a former id
	if e := c.view.Table(k.Parent.Forwarding); k.Parent.Forwarding != 0 && e != nil {
		x.to = append(x.to, sideOf(e, []*catalog.Column{e.Column("old")}))
		return x
	}
	x.home = rowBucket(k.Parent, x.to[0])
	return x
}

// rowBucket returns a function that returns the bucket of a row with a key of s; nil if the key
// does not determine the bucket.
func rowBucket(t *catalog.Table, s side) func(types.Row) (shardmap.Bucket, error) {
	pk := t.PrimaryKey()
	if pk == nil || len(pk.Columns) != len(s.columns) {
		return nil
	}
	for _, c := range s.columns {
		if !slices.Contains(pk.Columns, c.AttNum) {
			return nil
		}
	}
	place, err := table.NewPlacement(t)
	if err != nil {
		return nil
	}
	row := make(types.Row, len(t.Columns))
	return func(key types.Row) (shardmap.Bucket, error) {
		for i, at := range s.at {
			row[at] = key[i]
		}
		_, _, b, err := place.Home(row)
		return b, err
	}
}

// formerIDs returns the conditions on the former ids of a table's documents: each leads to a
// document, and is not a document's id.
func formerIDs(t, entries *catalog.Table, name string) []*relation {
	pk := t.PrimaryKey()
	if pk == nil || len(pk.Columns) != 1 {
		return nil
	}
	ids := sideOf(t, []*catalog.Column{t.ColumnByNum(pk.Columns[0])})
	old, now := sideOf(entries, []*catalog.Column{entries.Column("old")}),
		sideOf(entries, []*catalog.Column{entries.Column("new")})
	return []*relation{
		{
			check: "former ids", subject: name, unit: "former ids", from: now, to: []side{ids}, home: rowBucket(t, ids),
			says: func(key types.Row) string {
				return fmt.Sprintf("a former id leads to %s, which does not exist", key[0].S)
			},
		}, {
			check: "former ids", subject: name, unit: "former ids", from: old, to: []side{ids}, home: rowBucket(t, ids),
			apart: true,
			says:  func(key types.Row) string { return fmt.Sprintf("the former id %s is a document itself", key[0].S) },
		},
	}
}

func sideOf(t *catalog.Table, columns []*catalog.Column) side {
	s := side{def: t, columns: columns}
	for _, c := range columns {
		s.at = append(s.at, slices.IndexFunc(t.Columns, func(x catalog.Column) bool { return x.AttNum == c.AttNum }))
	}
	return s
}

// references is a proof in progress.
type references struct {
	*Check
	parts   []Part
	has     []shardmap.BucketSet // the buckets whose rows each part has
	here    shardmap.BucketSet   // the union of has
	whole   bool                 // there are no other buckets
	settled bool                 // the definitions are of the same time as the parts
	scratch string
}

func (r *references) prove(ctx context.Context, x *relation) (err error) {
	f := r.finding(x.check, x.subject, x.unit)
	switch {
	case x.skip != "":
		f.said = NotChecked + x.skip
		return nil
	case x.split != nil:
		return r.splitDocuments(ctx, x)
	case x.home == nil && !r.whole:
		f.said = NotChecked + "what it refers to may lie in any fragment, and not all are here"
		return nil
	}
	wanted, there := newHashes(r.scratch, "wanted"), newHashes(r.scratch, "there")
	defer func() { err = errors.Join(err, wanted.close(), there.close()) }()
	looked, elsewhere, err := r.wanted(ctx, x, wanted)
	if err != nil {
		return err
	}
	for _, s := range x.to {
		if err := r.scan(ctx, s, func(key types.Row) error { return there.add(r.hashed(s, key)) }); err != nil {
			return err
		}
	}
	faulty, n, err := faultyOf(wanted, there, x.apart)
	if err != nil {
		return err
	}
	if n > 0 {
		return r.name(ctx, x, faulty, n)
	}
	f.looked = looked
	if f.said = fmt.Sprintf("%d %s", looked, x.unit); elsewhere > 0 {
		f.said += fmt.Sprintf("; %d lead to rows that are not here, and were not checked", elsewhere)
	}
	return nil
}

// wanted adds the keys to look up to h.
func (r *references) wanted(ctx context.Context, x *relation, h *hashes) (looked, elsewhere int64, err error) {
	err = r.scan(ctx, x.from, func(key types.Row) error {
		nulls := 0
		for _, d := range key {
			if d.IsNull() {
				nulls++
			}
		}
		switch {
		case nulls > 0 && nulls < len(key) && x.full:
			r.fault(x.check, x.subject, "%s", x.says(key))
			return nil
		case nulls > 0:
			return nil
		}
		looked++
		if x.home != nil && !r.whole {
			if b, err := x.home(key); err == nil && !r.here.Contains(b) {
				elsewhere++
				return nil
			}
		}
		return h.add(r.hashed(x.from, key))
	})
	return looked, elsewhere, err
}

// faultyOf returns up to maxShown keys that are wanted but not there or, if apart is set, that are
// there; and the number of rows with such keys.
func faultyOf(wanted, there *hashes, apart bool) (faulty map[hashed]bool, n int64, err error) {
	faulty = map[hashed]bool{}
	for part := range hashParts {
		set := map[hashed]bool{}
		if err := there.each(part, func(x hashed) { set[x] = true }); err != nil {
			return nil, 0, err
		}
		err := wanted.each(part, func(x hashed) {
			if set[x] != apart {
				return
			}
			if n++; len(faulty) < maxShown {
				faulty[x] = true
			}
		})
		if err != nil {
			return nil, 0, err
		}
	}
	return faulty, n, nil
}

// name names rows with faulty keys; n is their total number.
func (r *references) name(ctx context.Context, x *relation, faulty map[hashed]bool, n int64) error {
	named := int64(0)
	err := r.scan(ctx, x.from, func(key types.Row) error {
		if !slices.ContainsFunc(key, types.Datum.IsNull) && faulty[r.hashed(x.from, key)] {
			named++
			r.fault(x.check, x.subject, "%s", x.says(key))
		}
		return nil
	})
	r.finding(x.check, x.subject, x.unit).more += n - named
	return err
}

// scan calls fn with the values of a side in every readable row; the others are reported already.
func (r *references) scan(ctx context.Context, s side, fn func(key types.Row) error) error {
	rows, err := table.NewRowCheck(s.def)
	if err != nil {
		return err
	}
	key := make(types.Row, len(s.at))
	for i := range r.parts {
		err := r.parts[i].View.Scan(ctx, indexSpan(s.def.StorageID, 0), false, func(_, value []byte) error {
			if rows.Content(value) != nil {
				return nil
			}
			for i, at := range s.at {
				key[i] = rows.Row()[at]
			}
			return fn(key)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *references) hashed(s side, key types.Row) hashed {
	id := keychange.ID(s.columns, key)
	var out hashed
	for i, seed := range r.seeds {
		x := maphash.String(seed, id)
		for b := range 8 {
			out[8*i+b] = byte(x >> (8 * b))
		}
	}
	return out
}
