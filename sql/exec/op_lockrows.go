package exec

import (
	"errors"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// rowLocker locks rows of one table, in their fragment.
type rowLocker struct {
	lock  plan.RowLock
	table *table.Table
	again *scanOp // reads a changed row again; nil if that is not possible in place
}

func (k *compiler) rowLocker(l plan.RowLock, s *plan.Scan) (*rowLocker, error) {
	t, err := table.New(l.Table)
	if err != nil {
		return nil, err
	}
	r := &rowLocker{lock: l, table: t}
	if s == nil {
		return r, nil
	}
	if r.again, err = k.scan(s); err != nil {
		return nil, err
	}
	k.Own(r.again)
	return r, nil
}

// take locks a row. got is false if the row is left out: another transaction has locked it, it no
// longer meets the condition, or, as in PostgreSQL, a cursor's own transaction has changed it since
// the cursor was opened. fresh is the present row if it has changed; it is valid until the next
// call.
func (r *rowLocker) take(c *Ctx, key []byte) (got bool, fresh types.Row, err error) {
	if seen := c.local.task.Seen; seen != nil {
		if changed, err := c.local.tx.BufferedSince(key, *seen); err != nil || changed {
			return false, nil, err
		}
	}
	req := txn.LockRequest{
		Mode: txn.LockMode(r.lock.Strength), T: c.local.task.T, Recheck: r.again != nil && c.rechecks(),
		NoWait: r.lock.Wait != query.LockBlock, Ending: true, Pin: true,
	}
	changed, err := lockRow(c, r.table, key, req, "locking")
	switch {
	case errors.Is(err, txn.ErrLocked) && r.lock.Wait == query.LockSkip:
		return false, nil, nil
	case errors.Is(err, txn.ErrLocked):
		return false, nil, pgerr.New(pgerr.LockNotAvailable,
			`could not obtain lock on row in relation "%s"`, r.table.Def.Name).
			WithDetail("%s is locked by another transaction.", pgerr.Capital(r.table.RowName(c.Env, key)))
	case err != nil || !changed:
		return err == nil, nil, err
	}
	got, err = r.again.newest(c, key)
	return got, r.again.out, err
}

// lockRowsOp passes on the rows of its child that it has locked.
type lockRowsOp struct {
	node     *plan.LockRows
	child    operator.Op
	lockers  []*rowLocker
	programs []*Program // of the tasks that lock keys sent from the gateway, one for each lock
	rejoin   *rejoin    // nil: a row that changed is not put together again
	most     expr.Eval
}

func (k *compiler) lockRows(n *plan.LockRows) (operator.Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	o := &lockRowsOp{node: n, child: child}
	for i, l := range n.Locks {
		scan := n.Scan
		if n.Rejoin != nil {
			scan = n.Rejoin.Tables[i].Scan
		}
		r, err := k.rowLocker(l, scan)
		if err != nil {
			return nil, err
		}
		p, err := compileNode(plan.LockKeys{Lock: l, Scan: scan}, 0)
		if err != nil {
			return nil, err
		}
		o.lockers, o.programs = append(o.lockers, r), append(o.programs, p)
	}
	if o.rejoin, err = k.rejoin(n.Rejoin); err != nil {
		return nil, err
	}
	o.most, err = k.Optional(n.Most)
	return o, err
}

// Run implements Op.
func (o *lockRowsOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	if err := readOnly(c, "SELECT "+o.node.Locks[0].Strength.String(), o.node.Locks[0].Table); err != nil {
		return err
	}
	if c.local == nil {
		return o.atGateway(c, emit)
	}
	return o.child.Run(&c.Execution, func(row types.Row) error {
		for _, r := range o.lockers {
			key := row[r.lock.Key]
			if key.IsNull() {
				continue
			}
			got, fresh, err := r.take(c, []byte(key.S))
			if err != nil || !got {
				return err
			}
			if fresh != nil {
				row = fresh
			}
		}
		return emit(row)
	})
}

// lockBatch is the rows at the gateway that are locked together.
type lockBatch struct {
	o     *lockRowsOp
	c     *Ctx
	emit  Emit
	t     txn.Timestamp
	store *memory.Arena
	rows  []types.Row         // nil entries were left out
	old   map[int64]types.Row // by place: the original rows of those that have to be joined again
	left  int64               // number of rows still wanted; below 0: no limit
}

// lockBatchRows bounds the rows of a batch.
const lockBatchRows = 256

// atGateway locks the rows in their order, a batch at a time, and never more than are wanted.
func (o *lockRowsOp) atGateway(c *Ctx, emit Emit) error {
	t, err := c.reads.at(c)
	if err != nil {
		return err
	}
	b := &lockBatch{o: o, c: c, emit: emit, t: t, store: &memory.Arena{Mem: c.Mem}}
	defer b.store.Free()
	if b.left, _, err = operator.Bounds(&c.Execution, o.most, nil); err != nil {
		return err
	}
	if err := o.child.Run(&c.Execution, b.take); err != nil {
		return err
	}
	return b.flush()
}

func (b *lockBatch) take(row types.Row) error {
	kept, err := b.store.Clone(row)
	if err != nil {
		return err
	}
	b.rows = append(b.rows, kept)
	n := lockBatchRows
	switch {
	case b.o.node.OneByOne:
		n = 1
	case b.left >= 0:
		n = max(1, int(min(b.left, lockBatchRows)))
	}
	if len(b.rows) < n {
		return nil
	}
	return b.flush()
}

// flush locks the rows of the batch and passes on the locked ones.
func (b *lockBatch) flush() error {
	for i := range b.o.node.Locks {
		if err := b.lock(i); err != nil {
			return err
		}
	}
	for i, row := range b.rows {
		if row == nil {
			continue
		}
		if old := b.old[int64(i)]; old != nil {
			if ok, err := b.o.rejoin.holds(b.c, old, row); err != nil {
				return err
			} else if !ok {
				continue
			}
		}
		if b.left > 0 {
			b.left--
		}
		if err := b.emit(row); err != nil {
			return err
		}
	}
	b.rows, b.old = b.rows[:0], nil
	b.store.Free()
	return nil
}

// lock takes lock i for every row. Neighbours in one fragment are locked together, so the order of
// the locks is that of the rows.
func (b *lockBatch) lock(i int) error {
	slot := b.o.node.Locks[i].Key
	var keys []Write
	for n, row := range b.rows {
		if row != nil && !row[slot].IsNull() {
			keys = append(keys, Write{Key: []byte(row[slot].S), Place: int64(n)})
		}
	}
	return b.lockKeys(i, keys, 0)
}

// lockKeys locks keys in their order.
func (b *lockBatch) lockKeys(i int, keys []Write, rerouted int) error {
	var p *part
	for _, w := range keys {
		bucket := table.BucketIn(w.Key)
		id := b.c.Gateway.mapOf(b.o.node.Locks[i].Table).Lookup(bucket)
		if p != nil && p.fragment != id {
			if err := b.send(i, p); err != nil {
				return err
			}
			p = nil
		}
		if p == nil {
			p = &part{fragment: id, epoch: b.c.Gateway.Map.Epoch(), rerouted: rerouted}
		}
		p.buckets = append(p.buckets, shardmap.OneBucket(bucket))
		p.writes = append(p.writes, w)
	}
	if p == nil {
		return nil
	}
	return b.send(i, p)
}

// send locks the keys of a part in its fragment; rows without an answer are left out.
func (b *lockBatch) send(i int, p *part) error {
	c := b.c
	f, err := c.Gateway.Fragment(p.fragment)
	if err != nil {
		return err
	}
	task := &Task{
		Txn: c.Gateway.Txn, T: b.t, Epoch: p.epoch, Buckets: shardmap.NewBucketSet(p.buckets...),
		Plan: b.o.programs[i].root, Writes: p.writes, Params: c.Params, Outers: c.Outers,
		Env: c.Env, Session: c.Session, Mem: c.Mem,
		Limits: c.Limits, Seen: c.seen(p.fragment), program: b.o.programs[i],
	}
	old := make([]types.Row, len(p.writes))
	for n := range p.writes {
		at := p.writes[n].Place
		old[n], b.rows[at] = b.rows[at], nil
	}
	next := 0
	_, err = c.Gateway.run(c.ctx(), f, task, func(answer types.Row) error {
		at := answer[0].N
		for p.writes[next].Place != at {
			next++
		}
		row := old[next]
		if fresh := answer[1:]; len(fresh) > 0 {
			kept, err := b.store.Clone(fresh)
			if err != nil {
				return err
			}
			if b.o.rejoin == nil {
				row = append(kept, row[len(fresh):]...)
			} else {
				row = b.renew(i, at, row, kept)
			}
		}
		b.rows[at] = row
		return nil
	})
	m, ok, err := c.Gateway.rerouted(c.ctx(), err, p.epoch)
	if !ok || p.rerouted == maxReroutes {
		return c.fault(err)
	}
	c.Gateway.adopt(m)
	for n := range p.writes {
		b.rows[p.writes[n].Place] = old[n]
	}
	return b.lockKeys(i, p.writes, p.rerouted+1)
}

// renew replaces the columns of a row by those that lock i has read again, and keeps the original
// row.
func (b *lockBatch) renew(i int, place int64, row, fresh types.Row) types.Row {
	out := slices.Clone(row)
	for n, at := range b.o.rejoin.tables[i].At {
		out[at] = fresh[n]
	}
	if b.old[place] == nil {
		if b.old == nil {
			b.old = map[int64]types.Row{}
		}
		b.old[place] = row
	}
	return out
}

// lockKeysOp runs a plan.LockKeys.
type lockKeysOp struct {
	locker *rowLocker
	answer types.Row
}

func (k *compiler) lockKeys(n plan.LockKeys) (operator.Op, error) {
	r, err := k.rowLocker(n.Lock, n.Scan)
	return &lockKeysOp{locker: r}, err
}

// Run implements Op.
func (o *lockKeysOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	writes := c.local.task.Writes
	for i := range writes {
		if err := c.Tick(); err != nil {
			return err
		}
		got, fresh, err := o.locker.take(c, writes[i].Key)
		if err != nil {
			return err
		}
		if !got {
			continue
		}
		o.answer = append(append(o.answer[:0], types.NewInt(writes[i].Place)), fresh...)
		if err := emit(o.answer); err != nil {
			return err
		}
	}
	return nil
}

// rejoin runs a plan.Rejoin.
type rejoin struct {
	tables    []plan.Reread
	unmatched []unmatched
	cond      expr.Eval
	same      []int
}

type unmatched struct {
	on    expr.Eval
	slots []int
}

func (k *compiler) rejoin(n *plan.Rejoin) (*rejoin, error) {
	if n == nil {
		return nil, nil
	}
	r := &rejoin{tables: n.Tables, same: n.Same}
	for _, u := range n.Unmatched {
		on, err := k.Optional(u.On)
		if err != nil {
			return nil, err
		}
		r.unmatched = append(r.unmatched, unmatched{on, u.Slots})
	}
	var err error
	r.cond, err = k.Optional(n.Cond)
	return r, err
}

// holds reports whether a row that is new in part is still a result of the join. It sets to null
// the parts that are no longer joined to it.
func (r *rejoin) holds(c *Ctx, old, row types.Row) (bool, error) {
	for _, at := range r.same {
		if old[at] != row[at] {
			return false, pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
				WithDetail("A column that a subquery of the statement looks at was changed.").
				WithHint("A cursor that has given rows cannot be run again. The transaction might succeed if retried.")
		}
	}
	for _, u := range r.unmatched {
		ok, err := u.on.Holds(&c.Ctx, row)
		if err != nil {
			return false, err
		}
		if ok {
			continue
		}
		for _, at := range u.slots {
			row[at] = types.Null
		}
	}
	return r.cond.Holds(&c.Ctx, row)
}
