package exec

import (
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// WriteKind is the kind of a Write.
type WriteKind uint8

// Kinds of writes.
const (
	WriteInsert  WriteKind = iota // the key must be free, or ON CONFLICT decides
	WriteReplace                  // the row is there and has not changed since the snapshot
	WriteDelete                   // likewise
	// The row exists: ON CONFLICT DO UPDATE decides about it with the proposed Value.
	WriteUpsert
	WriteEntry   // of a secondary index; Exclusive: no other row may have the key
	WriteUnentry // removes an entry
	// Puts an exclusive entry, or returns the one of the row that has the key.
	WriteClaim
	// Of an exclusive entry's key, which several rows may have had: now only one may.
	WriteSettle
	// Replaces a row that an answer to ON CONFLICT has returned under its lock.
	WriteLocked
)

// isRow reports whether a write is of a row, not of an index entry.
func (k WriteKind) isRow() bool { return k <= WriteUpsert || k == WriteLocked }

// Write is one row, or one index entry, that a gateway writes in a fragment.
type Write struct {
	Kind WriteKind
	Key  []byte // of the row
	// The encoded row; of a delete, the key that the row gets instead, nil if the row is deleted.
	Value []byte
	Place int64 // of the row in the statement, for answers
	// This statement has written the row before: a second ON CONFLICT DO UPDATE is 21000.
	Hit  bool
	Mode txn.LockMode // of a replacement: whether it changes a unique key

	Building bool // the row is there already, and the constraint that refuses it is new

	Index     int    // of an entry: which of the Modify's
	Exclusive bool   // of an entry
	Deferred  bool   // of an exclusive entry: another row may have the key until WriteSettle
	Row       []byte // of an entry: the encoded row, for messages
}

// Results of a write with ON CONFLICT.
const (
	didSkip   = 0
	didInsert = 1
	didUpdate = 2
	didShare  = 3 // put a deferred entry, while another row has the exclusive one
	didReturn = 4 // locked and returned the row that is there

	answerWidth = 5
)

// stageOp stages writes in a fragment, each under its row's lock.
type stageOp struct {
	rule    *table.Rule
	conf    *conflictRule // nil: a duplicate key is 23505
	reader  types.RowReader
	order   []byte
	answer  types.Row
	written map[string]struct{} // by this task, for 21000

	triggers plan.RowTriggers
}

func (k *compiler) stage(n plan.Stage) (operator.Op, error) {
	rule, err := k.tableRule(n.Modify)
	if err != nil {
		return nil, err
	}
	o := &stageOp{rule: rule, answer: make(types.Row, answerWidth), triggers: n.Modify.Triggers}
	if n.Modify.OnConflict != nil {
		o.conf, err = k.conflictRule(n.Modify, rule)
	}
	return o, err
}

// Run implements Op.
func (o *stageOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	o.written = nil
	if o.conf != nil && o.conf.update {
		o.written = map[string]struct{}{}
	}
	writes := c.local.task.Writes
	for i := range writes {
		if err := c.Tick(); err != nil {
			return err
		}
		w := &writes[i]
		var err error
		switch w.Kind {
		case WriteInsert:
			err = o.insert(c, w, emit)
		case WriteReplace:
			err = o.replace(c, w)
		case WriteDelete:
			err = o.remove(c, w)
		case WriteLocked:
			err = o.put(c, w.Key, w.Value, false)
		case WriteUpsert:
			err = o.upsert(c, w, emit)
		default:
			err = o.entry(c, w, emit)
		}
		if err != nil {
			return ofRow(err, w.Place)
		}
	}
	return nil
}

func (o *stageOp) insert(c *Ctx, w *Write, emit Emit) error {
	tx := c.local.tx
	if o.conf != nil && o.conf.key {
		if existing, err := o.taken(c, w.Key); err != nil {
			return err
		} else if existing != nil {
			return o.conflict(c, w, existing, emit)
		}
	}
	since, err := lockNew(c, o.rule.Table, w.Key, txn.LockRequest{Mode: txn.Update, T: maxT})
	if err != nil {
		return err
	}
	existing, err := tx.Newest(c.ctx(), w.Key)
	if err != nil {
		return err
	}
	if existing != nil {
		if w.Building {
			return o.rule.NotUnique(&c.Ctx, w.Value)
		}
		if o.conf == nil || !o.conf.key {
			return named(c, o.rule.Table, w.Key, takenBy(c, w.Key, since, o.rule.Duplicate(&c.Ctx, w.Value)))
		}
		if existing, err = o.taken(c, w.Key); err != nil {
			return err
		}
		return o.conflict(c, w, existing, emit)
	}
	if err := o.put(c, w.Key, w.Value, true); err != nil {
		return err
	}
	if o.conf == nil {
		return nil
	}
	return o.did(w, didInsert, emit)
}

func (o *stageOp) did(w *Write, what int64, emit Emit) error {
	if o.written != nil && what != didSkip {
		o.written[string(w.Key)] = struct{}{}
	}
	return o.reply(emit, w, what, types.Null, types.Null)
}

// reply emits an answer: the row that was written, and the row before.
func (o *stageOp) reply(emit Emit, w *Write, what int64, row, old types.Datum) error {
	o.answer[0], o.answer[1], o.answer[2], o.answer[3] = types.NewInt(w.Place), types.NewInt(what), row, old
	o.answer[4] = types.NewInt(int64(w.Index))
	return emit(o.answer)
}

// put writes a row; a new row also gets its entry in the index in primary key order.
func (o *stageOp) put(c *Ctx, key, value []byte, fresh bool) error {
	c.Affected++
	if err := c.local.tx.Put(key, value); err != nil {
		return err
	}
	if !fresh {
		return nil
	}
	return putOrder(o.rule.Table, c.local.tx, &o.order, key)
}

// putOrder stages the entry of a row in the order index.
func putOrder(t *table.Table, tx Tx, buf *[]byte, key []byte) error {
	if t.Order == 0 {
		return nil
	}
	generation, err := table.GenerationOf(tx, table.BucketIn(key))
	if err != nil {
		return err
	}
	b := t.AppendOrderKey((*buf)[:0], key[table.KeyAt:])
	at := len(b)
	*buf = table.AppendOrderValue(b, key, generation)
	return tx.Put((*buf)[:at:at], (*buf)[at:])
}

// dropOrder removes it.
func dropOrder(t *table.Table, tx Tx, buf *[]byte, key []byte) error {
	if t.Order == 0 {
		return nil
	}
	*buf = t.AppendOrderKey((*buf)[:0], key[table.KeyAt:])
	return tx.Delete(*buf)
}

// writtenBefore refuses a row that another part of the statement has written, because it is
// undefined which of the two changes should win. triggers reports whether that may have been a
// trigger.
func writtenBefore(c *Ctx, t *table.Table, key []byte, triggers plan.RowTriggers, doing string) error {
	if c.local.task.Seen == nil {
		return nil
	}
	twice, err := c.local.tx.BufferedSince(key, *c.local.task.Seen)
	switch {
	case err != nil || !twice:
		return err
	case triggers.BeforeRow != 0:
		return pgerr.New(pgerr.TriggeredDataChangeViolation,
			"tuple to be %s was already modified by an operation triggered by the current command", doing).
			WithHint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")
	}
	return pgerr.Unsupported(
		"updating or deleting a row of table %q twice in one statement is not supported", t.Def.Name).
		WithHint("Write each row in one part of the WITH only.")
}

func (o *stageOp) replace(c *Ctx, w *Write) error {
	if err := writtenBefore(c, o.rule.Table, w.Key, o.triggers, "updated"); err != nil {
		return err
	}
	if _, err := lockRow(c, o.rule.Table, w.Key, txn.LockRequest{Mode: w.Mode, T: c.since()}, "updating"); err != nil {
		return err
	}
	return o.put(c, w.Key, w.Value, false)
}

func (o *stageOp) remove(c *Ctx, w *Write) error {
	if err := writtenBefore(c, o.rule.Table, w.Key, o.triggers, "deleted"); err != nil {
		return err
	}
	req := txn.LockRequest{Mode: txn.Update, T: c.since()}
	if _, err := lockRow(c, o.rule.Table, w.Key, req, "deleting"); err != nil {
		return err
	}
	c.Affected++
	if err := c.local.tx.Delete(w.Key); err != nil {
		return err
	}
	if len(w.Value) > 0 {
		c.local.tx.Leaves(w.Key)
	}
	return dropOrder(o.rule.Table, c.local.tx, &o.order, w.Key)
}

// sender collects writes by fragment and stages them in parallel.
type sender struct {
	c       *Ctx
	node    plan.Stage
	program *Program
	parts   map[shardmap.FragmentID]*part // nil: at most one, which is last
	last    *part                         // that got a write
	order   []*part
	rows    int
	bytes   int
	flight  chan error    // of the writes in progress; nil: none
	behind  []*part       // of that stage
	entries []table.Entry // of a row
	ahead   *sender       // whose writes come before those of this one; nil: there is none
	shown   plan.Node     // of EXPLAIN: the step that writes; nil: node
}

// part is the writes for one fragment.
type part struct {
	fragment shardmap.FragmentID
	buckets  []shardmap.Interval
	writes   []Write
	result   Result
	answers  []answer

	epoch    uint64        // of the map that it was made by
	t        txn.Timestamp // of its task
	rerouted int           // how often its writes were split again
	inner    []*part       // replace this part if its buckets had moved
}

// answer is the result of a write of a row.
type answer struct {
	place int64
	what  int64
	value []byte
	old   []byte // the row before an update; of a refused claim, the existing entry
	index int
}

const (
	stageRows  = 8192    // in one task
	stageBytes = 4 << 20 // likewise
)

func (s *sender) add(bucket shardmap.Bucket, w Write) {
	p := s.part(s.c.Gateway.mapOf(s.node.Modify.Table).Lookup(bucket))
	w.Deferred = s.defers(&w)
	p.writes = append(p.writes, w)
	p.buckets = append(p.buckets, shardmap.OneBucket(bucket))
	s.rows++
	s.bytes += len(w.Key) + len(w.Value)
}

// part returns the part for a fragment.
func (s *sender) part(id shardmap.FragmentID) *part {
	if s.last != nil && s.last.fragment == id {
		return s.last
	}
	if s.last != nil && s.parts == nil {
		s.parts = map[shardmap.FragmentID]*part{s.last.fragment: s.last}
	}
	p := s.parts[id]
	if p == nil {
		p = &part{fragment: id, epoch: s.c.Gateway.Map.Epoch()}
		if s.parts != nil {
			s.parts[id] = p
		}
		s.order = append(s.order, p)
	}
	s.last = p
	return p
}

func (s *sender) full() bool {
	return s.rows >= stageRows || s.bytes >= stageBytes || s.c.Prompt && s.rows > 0
}

// take returns the collected parts and starts again with none.
func (s *sender) take() []*part {
	parts := s.order
	s.parts, s.last, s.order, s.rows, s.bytes = nil, nil, nil, 0, 0
	return parts
}

// at returns the timestamp of the tasks that write.
func (s *sender) at() (txn.Timestamp, error) {
	if s.node.Modify.OnConflict == nil && s.node.Modify.Kind == plan.ModInsert {
		return maxT, nil
	}
	return s.c.reads.of(s.c, s.node.Modify.Table)
}

// stage writes a part in the fragments that own its buckets now. It may run in its own goroutine.
func (s *sender) stage(p *part) error {
	c := s.c
	f, err := c.Gateway.Fragment(p.fragment)
	if p.fragment == shardmap.NoFragment && p.rerouted < maxReroutes {
		// The map is older than the definition that names the buckets.
		return c.fault(s.elsewhere(p, p.epoch, &txn.MovedError{}))
	}
	if err != nil {
		return err
	}
	task := &Task{
		Txn: c.Gateway.Txn, T: p.t, Epoch: p.epoch, Buckets: shardmap.NewBucketSet(p.buckets...),
		Plan: s.node, Writes: p.writes, Params: c.Params, Outers: c.Outers,
		Env: c.Env, Session: c.Session, Mem: c.Mem, Limits: c.Limits,
		Seen: c.seen(p.fragment), program: s.program,
	}
	p.result, err = c.Gateway.run(c.ctx(), f, task, p.answered)
	if _, moved := errors.AsType[*txn.MovedError](err); moved && p.rerouted < maxReroutes {
		err = s.elsewhere(p, p.epoch, err)
	}
	return c.fault(err)
}

// setTimestamp sets the timestamp of the parts' tasks. It must be called by the statement's
// goroutine.
func (s *sender) setTimestamp(parts []*part) error {
	t, err := s.at()
	for _, p := range parts {
		p.t = t
	}
	return err
}

// stageAll writes the parts and returns the first error.
func (s *sender) stageAll(parts []*part) error {
	if len(parts) == 1 {
		return s.stage(parts[0])
	}
	runs := make([]func() error, len(parts))
	for i, p := range parts {
		runs[i] = func() error { return s.stage(p) }
	}
	return parallel(runs)
}

func (p *part) answered(row types.Row) error {
	a := answer{place: row[0].N, what: row[1].N, index: int(row[4].N)}
	if !row[2].IsNull() {
		a.value = []byte(row[2].S)
	}
	if !row[3].IsNull() {
		a.old = []byte(row[3].S)
	}
	p.answers = append(p.answers, a)
	return nil
}

// parallel runs all functions and returns the first error in their order.
func parallel(runs []func() error) error {
	errs := make([]error, len(runs))
	done := make(chan struct{})
	for i, run := range runs[1:] {
		go func() {
			errs[i+1] = run()
			done <- struct{}{}
		}()
	}
	errs[0] = runs[0]()
	for range runs[1:] {
		<-done
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// flush writes the collected rows and waits for the result, which parts contain.
func (s *sender) flush() ([]*part, error) {
	if s.ahead != nil {
		if _, err := s.ahead.flush(); err != nil {
			return nil, err
		}
	}
	if err := s.wait(); err != nil {
		return nil, err
	}
	parts := s.take()
	if len(parts) == 0 {
		return nil, nil
	}
	if err := s.setTimestamp(parts); err != nil {
		return nil, err
	}
	if err := s.stageAll(parts); err != nil {
		return nil, err
	}
	parts = flat(parts)
	s.count(parts)
	return parts, s.noteShared(parts)
}

// flushBehind writes the collected rows while the caller continues, unless one fragment has all of
// them. The writes before must be done.
func (s *sender) flushBehind() error {
	if err := s.wait(); err != nil {
		return err
	}
	parts := s.take()
	if err := s.setTimestamp(parts); err != nil {
		return err
	}
	flight := make(chan error, 1)
	s.flight, s.behind = flight, parts
	if len(parts) == 1 {
		flight <- s.stage(parts[0])
	} else {
		go func() { flight <- s.stageAll(parts) }()
	}
	s.c.Affected += rowsOf(parts)
	return nil
}

func rowsOf(parts []*part) int64 {
	n := int64(0)
	for _, p := range parts {
		for i := range p.writes {
			if p.writes[i].Kind.isRow() {
				n++
			}
		}
	}
	return n
}

// wait waits for the writes in progress.
func (s *sender) wait() error {
	if s.flight == nil {
		return nil
	}
	err := <-s.flight
	s.flight = nil
	if err == nil {
		err = s.noteShared(flat(s.behind))
	}
	return err
}

func (s *sender) count(parts []*part) {
	for _, p := range parts {
		s.c.Affected += p.result.Affected
		if s.c.Analyze != nil {
			share := shardmap.Share{Fragment: p.fragment, Buckets: shardmap.NewBucketSet(p.buckets...)}
			shown := s.shown
			if shown == nil {
				shown = s.node.Modify
			}
			s.c.Analyze.add(shown, share, p.result, counter{})
		}
	}
}
