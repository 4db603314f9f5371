package exec

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// insertOp completes, places and checks the rows of its child at the gateway, and writes them in
// the fragments of their buckets.
type insertOp struct {
	node      *plan.Modify
	child     operator.Op
	rule      *table.Rule
	returning []expr.Eval
	program   *Program
	// The child reads the same table: its rows are kept before the first is written (E6).
	reads   bool
	parted  bool // RETURNING reads it: as it was before the statement (E6)
	next    types.Row
	keys    types.Row
	out     types.Row
	decoded types.Row
	reader  types.RowReader
	watcher *keychange.Watcher
	conf    *conflictRule // of ON CONFLICT on a table with triggers; nil: fragments decide alone
}

func (k *compiler) insert(n *plan.Modify) (operator.Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	o, err := k.inserter(n)
	if err == nil {
		o.child, o.reads = child, readsTable(n.Child, n.Table.OID)
	}
	return o, err
}

// inserter returns an insertOp without its input.
func (k *compiler) inserter(n *plan.Modify) (*insertOp, error) {
	width := len(n.Table.Columns)
	o := &insertOp{node: n, next: make(types.Row, width), decoded: make(types.Row, width)}
	var err error
	o.parted = subPlansRead(n.Table.OID, n.Returning...) || checksRead(n)
	if o.rule, err = k.tableRule(n); err != nil {
		return nil, err
	}
	o.keys = make(types.Row, len(o.rule.Table.Key))
	o.watcher = keychange.NewWatcher(o.rule.Table, n, nil)
	k.Own(o.watcher)
	if o.returning, err = k.Exprs(n.Returning); err != nil {
		return nil, err
	}
	o.out = make(types.Row, len(o.returning))
	if n.OnConflict != nil && (n.Triggers.Fires(catalog.TriggerUpdate) || n.OnConflict.Returns) {
		if o.conf, err = k.conflictRule(n, o.rule); err != nil {
			return nil, err
		}
	}
	o.program, err = compileNode(plan.AtFragment(n), 0)
	return o, err
}

// checksRead reports whether a row policy reads the table that is written.
func checksRead(n *plan.Modify) bool {
	return slices.ContainsFunc(n.Checks, func(c query.Check) bool { return subPlansRead(n.Table.OID, c.Expr) })
}

// subPlansRead reports whether a subquery in the expressions reads a table.
func subPlansRead(table uint32, es ...query.Expr) bool {
	found := false
	for _, e := range es {
		walk.Visit(e, func(x query.Expr) {
			if s, ok := x.(*plan.SubPlan); ok {
				found = found || readsTable(s.Plan, table)
			}
		})
	}
	return found
}

// readsTable reports whether a plan reads a table, also in subqueries.
func readsTable(n plan.Node, table uint32) bool {
	if s, ok := n.(*plan.Scan); ok && s.Table.OID == table {
		return true
	}
	found := subPlansRead(table, walk.Exprs(n)...)
	for _, c := range n.Children() {
		found = found || readsTable(c, table)
	}
	return found
}

// insertion is one execution.
type insertion struct {
	o          *insertOp
	c          *Ctx
	emit       Emit
	out        sender
	hits       map[string]struct{} // keys written by earlier batches, for ON CONFLICT DO UPDATE
	place      int64
	bytes      []byte      // keys and rows of the batch
	slab       int         // size of bytes when it was made
	arbitrated bool        // secondary indexes decide on conflicts, or follow from them
	proposals  []*proposal // rows that wait for that
	settled    int         // watched keys that were left when KeysFull was last asked
	sync       bool        // each batch is waited for: its rows are returned, or conflicts decide
	merges     *merging    // the MERGE that inserts the rows; nil: an INSERT does
	skipped    int64       // rows that triggers have left out
}

// Run implements Op.
func (o *insertOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	if c.Gateway == nil {
		return internal("INSERT inside a fragment")
	}
	if err := readOnly(c, "INSERT", o.node.Table); err != nil {
		return err
	}
	c.Parted = c.Parted || o.parted
	in := &insertion{
		o: o, c: c, emit: emit, arbitrated: o.arbitrates(), sync: len(o.returning) > 0 || o.node.OnConflict != nil,
	}
	in.out = sender{c: c, node: plan.AtFragment(o.node), program: o.program}
	if oc := o.node.OnConflict; oc != nil && oc.Update {
		in.hits = map[string]struct{}{}
	}
	err := o.feed(c, in.take)
	if err == nil {
		err = in.flush()
	}
	if waited := in.out.wait(); err == nil {
		err = waited
	}
	return err
}

// feed runs the child. If the child reads the table that is written, feed keeps all rows first.
func (o *insertOp) feed(c *Ctx, take Emit) error {
	if !o.reads || c.Prompt {
		return o.child.Run(&c.Execution, take)
	}
	rows := spool.NewRows(c.Mem)
	defer rows.Free()
	if err := o.child.Run(&c.Execution, rows.Keep); err != nil {
		return err
	}
	return rows.Emit(c.Tick, take)
}

// take completes a row and adds it to the batch.
func (in *insertion) take(row types.Row) error {
	o := in.o
	copy(o.next, row)
	for _, i := range o.rule.Table.Adding {
		// The row is as old as the definition that was used for it.
		o.next[i] = o.rule.Table.Missing[i]
	}
	place := in.place
	in.place++
	if o.node.Triggers.Changes(catalog.TriggerInsert) && in.c.Triggers != nil {
		if ok, err := in.before(); err != nil || !ok {
			in.skipped++
			return err
		}
	}
	bucket, tail, err := in.settle()
	if err != nil {
		return err
	}
	if err := o.rule.Check(&in.c.Ctx, o.next, query.RowInserted); err != nil {
		return err
	}
	if o.node.OnConflict == nil {
		if err := in.watched(); err != nil {
			return err
		}
		if err := in.after(catalog.TriggerInsert, nil, o.next); err != nil {
			return err
		}
	}
	w := Write{Kind: WriteInsert, Place: place}
	if w.Key, w.Value, err = in.encode(bucket, tail); err != nil {
		return err
	}
	if in.hits != nil {
		_, w.Hit = in.hits[string(w.Key)]
	}
	if in.arbitrated {
		return in.propose(bucket, w)
	}
	in.out.add(bucket, w)
	if in.bytes, err = in.out.addEntries(in.c, o.rule.Indexes, o.next, &w, in.bytes); err != nil {
		return err
	}
	if !in.out.full() || in.merges != nil && in.merges.o.holds {
		return nil
	}
	if in.sync || in.c.Prompt {
		return in.flush()
	}
	in.bytes = nil // writes in progress use the old ones
	return in.out.flushBehind()
}

// before fires the triggers before the insertion of the row. It reports whether it is inserted.
func (in *insertion) before() (bool, error) {
	o := in.o
	if o.rule.Table.Def.Anchors {
		if err := in.completeID(); err != nil {
			return false, err
		}
	}
	for _, g := range o.rule.Generated { // they are computed after the triggers
		o.next[g.Col] = types.Null
	}
	return fireBefore(in.c, &RowEvent{Table: o.node.Table, Kind: catalog.TriggerInsert, New: o.next}, o.next)
}

// after notes a row that was written, for triggers.
func (in *insertion) after(kind catalog.TriggerEvents, old, next types.Row) error {
	o := in.o
	if in.c.Triggers == nil || o.node.Triggers.AfterRow&uint32(kind) == 0 {
		return nil
	}
	e := RowEvent{Table: o.node.Table, Kind: kind, Old: old, New: next}
	if o.conf != nil {
		e.Updated = o.conf.updated
	}
	return in.c.Triggers.After(in.c, &e)
}

// encode returns the key and the stored form of the new row, in the batch's memory.
func (in *insertion) encode(bucket shardmap.Bucket, tail []byte) (key, value []byte, err error) {
	t := in.o.rule.Table
	if cap(in.bytes)-len(in.bytes) < 1<<10 {
		in.slab = min(max(4*in.slab, 2<<10), 64<<10) // one row is common, a million rows too
		in.bytes = make([]byte, 0, in.slab)
	}
	at := len(in.bytes)
	b := t.AppendRowPrefix(in.bytes, bucket)
	if tail != nil {
		b = append(b, tail...)
	} else {
		b = t.AppendKey(b, in.o.keys)
	}
	mid := len(b)
	b, err = in.o.rule.Encode(b, in.o.next)
	in.bytes = b
	return b[at:mid:mid], b[mid:len(b):len(b)], err
}

// settle completes the id, chooses the bucket and computes generated columns. tail is the hidden id
// of a row without primary key.
func (in *insertion) settle() (bucket shardmap.Bucket, tail []byte, err error) {
	o, t := in.o, in.o.rule.Table
	if err := o.rule.Generate(&in.c.Ctx, o.next); err != nil {
		return 0, nil, err
	}
	if len(t.Key) == 0 {
		tail = table.NewRowID()
		return table.BucketOfRowID(tail), tail, nil
	}
	if t.Def.Anchors || t.RangedCollection() {
		if err := in.completeID(); err != nil {
			return 0, nil, err
		}
	}
	o.keys = t.KeyValues(o.keys, o.next)
	for i, d := range o.keys {
		if d.IsNull() {
			return 0, nil, o.rule.NullError(&in.c.Ctx, &t.Def.Columns[t.Key[i]], o.next)
		}
	}
	before := o.keys[0]
	if bucket, err = t.Place(o.next, o.keys, in.c.Limits.ExplicitBuckets); err != nil {
		return 0, nil, err
	}
	if t.Def.Anchors && before.S != o.keys[0].S {
		err = o.rule.Generate(&in.c.Ctx, o.next)
	}
	return bucket, nil, err
}

// completeID appends a number from the server to the id of a document that has none, or that ends
// in "/". If the collection has anchor_by, the id also gets that anchor; otherwise, under a policy
// that checks the places of documents, the policy chooses the bucket.
func (in *insertion) completeID() error {
	t, col := in.o.rule.Table, &in.o.next[in.o.rule.Table.Key[0]]
	id := col.S
	given := id
	if id == "" || strings.HasSuffix(id, "/") || t.Def.Anchors && strings.HasSuffix(id, "/$") {
		if in.c.Hooks.CompleteID == nil {
			return unsupported("ids cannot be completed here")
		}
		var err error
		if id, err = in.c.Hooks.CompleteID(in.c.ctx(), t.Def, id); err != nil {
			return err
		}
	}
	switch {
	case t.Def.AnchorBy != "" && strings.LastIndexByte(id, '$') <= 0:
		anchor, err := t.AnchorOf(in.o.next)
		if err != nil {
			return err
		}
		id += "$" + anchor
	case id != given && t.ChecksPlaces() && !strings.HasSuffix(id, "$"):
		id += "$" // the policy would refuse the bucket that the number happens to choose
	}
	if col.IsNull() || id != given {
		*col = types.NewText(id)
		return in.o.rule.Generate(&in.c.Ctx, in.o.next)
	}
	return nil
}

// flush stages the batch and returns its rows in their order.
func (in *insertion) flush() error {
	if in.arbitrated {
		return in.decideAll()
	}
	parts, err := in.out.flush()
	if err != nil {
		return err
	}
	if err := in.updateReturned(parts); err != nil {
		return err
	}
	if in.sync {
		if err := in.answer(parts); err != nil {
			return err
		}
	}
	in.bytes = in.bytes[:0]
	return nil
}

// answer emits RETURNING for the rows that were written, in the order of the statement.
func (in *insertion) answer(parts []*part) error {
	type row struct {
		place int64
		value []byte
	}
	var rows []row
	var wrote []answer
	for _, p := range parts {
		if in.o.node.OnConflict == nil {
			for i := range p.writes {
				if !p.writes[i].Kind.isRow() {
					continue
				}
				rows = append(rows, row{p.writes[i].Place, p.writes[i].Value})
			}
			continue
		}
		for i, a := range p.answers {
			if a.what == didSkip {
				continue
			}
			if in.hits != nil {
				in.hits[string(p.writes[i].Key)] = struct{}{}
			}
			if a.value == nil {
				a.value = p.writes[i].Value
			}
			wrote = append(wrote, a)
			rows = append(rows, row{a.place, a.value})
		}
	}
	slices.SortFunc(wrote, func(a, b answer) int { return int(a.place - b.place) })
	for _, a := range wrote {
		if err := in.noteKeys(a); err != nil {
			return err
		}
	}
	if len(in.o.returning) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b row) int { return int(a.place - b.place) })
	for _, r := range rows {
		if err := in.returnRow(r.value); err != nil {
			return err
		}
	}
	return nil
}

// keysAtOnce is the number of recorded keys after which some are checked.
const keysAtOnce = 4096

// watched notes the watched keys of a new row.
func (in *insertion) watched() error {
	c := in.c
	if err := in.o.watcher.Note(&c.Keys, c.Mem, nil, in.o.next); err != nil {
		return err
	}
	if c.Hooks.KeysFull == nil || in.merges != nil || c.Keys.Len() < in.settled+keysAtOnce {
		return nil
	}
	err := c.Hooks.KeysFull(c)
	in.settled = c.Keys.Len()
	return err
}

// noteKeys notes the watched keys of a row that ON CONFLICT has let in, or has updated.
func (in *insertion) noteKeys(a answer) error {
	o := in.o
	if o.watcher.None() && (in.c.Triggers == nil || o.node.Triggers.AfterRow == 0) {
		return nil
	}
	next := make(types.Row, len(o.decoded))
	var reader types.RowReader
	if err := o.rule.Table.Decode(&reader, next, a.value); err != nil || a.what == didInsert {
		if err == nil {
			err = o.watcher.Note(&in.c.Keys, in.c.Mem, nil, next)
		}
		if err == nil {
			err = in.after(catalog.TriggerInsert, nil, next)
		}
		return err
	}
	old := make(types.Row, len(o.decoded))
	var before types.RowReader
	if err := o.rule.Table.Decode(&before, old, a.old); err != nil {
		return err
	}
	if err := in.after(catalog.TriggerUpdate, old, next); err != nil {
		return err
	}
	return o.watcher.Note(&in.c.Keys, in.c.Mem, old, next)
}

func (in *insertion) returnRow(value []byte) error {
	o := in.o
	if err := o.rule.Table.Decode(&o.reader, o.decoded, value); err != nil {
		return err
	}
	if err := expr.EvalInto(&in.c.Ctx, o.out, o.returning, o.decoded); err != nil {
		return err
	}
	return in.emit(o.out)
}
