package exec

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/route"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// split is Map.Split with a fast path for a single bucket; it appends to dst.
func split(dst []shardmap.Share, m *shardmap.Map, set shardmap.BucketSet) []shardmap.Share {
	ivs := set.Intervals()
	if len(ivs) == 1 && ivs[0].Len() == 1 {
		return append(dst, shardmap.Share{Fragment: m.Lookup(shardmap.Bucket(ivs[0].Lo)), Buckets: set})
	}
	return m.Split(set)
}

// gatherOp runs its child in every fragment of its route.
type gatherOp struct {
	node    *plan.Gather
	router  *route.Router
	index   *finder // of a global index; the rows that it finds determine the buckets
	program *Program
	merge   operator.Ordering
	ahead   *aheadReads // nil: it runs for one set of outer values at a time
	whole   bool        // it is read whole, whatever the statement's part
	session bool        // it reads temporary tables, which are in the session's own fragment
	task    Task        // of a route to one fragment, reused
	single  [1]shardmap.Share
	run     uint64
	set     shardmap.BucketSet // of execution run, if the route is not lateral
}

func (k *compiler) gather(n *plan.Gather) (operator.Op, error) {
	r, err := route.New(&k.Compiler.Compiler, &n.Route)
	if err != nil {
		return nil, err
	}
	index, err := k.finder(n.Route.Index)
	if err != nil {
		return nil, err
	}
	p, err := compileMeasured(n.Child, 0, k.Measure)
	if err != nil {
		return nil, err
	}
	o := &gatherOp{
		node: n, router: r, index: index, program: p, merge: operator.NewOrdering(n.Merge), whole: whole(n.Child),
		session: readsTemporary(n.Child),
	}
	if !o.session {
		k.gathers = append(k.gathers, o)
	}
	return o, k.readAhead(o)
}

// readsTemporary reports whether a part of a plan reads temporary tables. It reads no others then.
func readsTemporary(n plan.Node) bool {
	if s, ok := n.(*plan.Scan); ok {
		return s.Table.IsTemporary()
	}
	return slices.ContainsFunc(n.Children(), readsTemporary)
}

// mapOf returns the map by which the Gather is split into tasks.
func (o *gatherOp) mapOf(g *Gateway) *shardmap.Map {
	if o.session {
		return shardmap.SessionMap()
	}
	return g.Map
}

// buckets evaluates the route, once per execution if it cannot change.
func (o *gatherOp) buckets(c *Ctx) (shardmap.BucketSet, error) {
	if o.run == c.Run && !o.router.Lateral() {
		return o.set, nil
	}
	set, err := o.router.Buckets(&c.Ctx)
	if err == nil {
		set, err = o.within(c, set)
	}
	o.set = set
	if err == nil {
		o.run = c.Run
	}
	return set, err
}

// Run implements Op.
func (o *gatherOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	if c.Gateway == nil {
		return internal("a fragment was asked to gather")
	}
	if o.ahead != nil {
		return o.runAhead(c, emit)
	}
	set, err := o.buckets(c)
	if err == nil && o.index != nil && !set.IsEmpty() {
		set, err = o.index.find(c, set)
	}
	if err != nil || set.IsEmpty() {
		return err
	}
	return o.read(c, set, emit)
}

// read runs the tasks for some buckets.
func (o *gatherOp) read(c *Ctx, set shardmap.BucketSet, emit Emit) error {
	for n := 0; ; n++ {
		epoch := c.Gateway.Map.Epoch()
		shares, at, err := o.place(c, split(o.single[:0], o.mapOf(c.Gateway), set))
		switch {
		case err != nil || len(shares) == 0:
		case len(shares) == 1:
			err = o.one(c, shares[0], emit)
		default:
			err = o.many(c, at, shares, emit)
		}
		// *txn.MovedError means that buckets have moved and nothing was done.
		m, ok, err := c.Gateway.rerouted(c.ctx(), err, epoch)
		if !ok || n == maxReroutes {
			return c.fault(err)
		}
		c.Gateway.adopt(m)
	}
}

// place returns the shares that are read, and the timestamp. If there is one share, it fills the
// task for it.
func (o *gatherOp) place(c *Ctx, shares []shardmap.Share) ([]shardmap.Share, txn.Timestamp, error) {
	if o.session {
		o.fill(&o.task, c, 0, shares[0], c.Outers)
		return shares, 0, nil
	}
	if err := o.fanout(c, shares); err != nil {
		return nil, 0, err
	}
	if len(shares) == 1 {
		if floor, ok := c.reads.left(c, o); ok {
			o.fill(&o.task, c, 0, shares[0], c.Outers)
			o.task.Floor, o.task.reads = floor, c.reads
			return shares, 0, nil
		}
	}
	t, err := c.reads.at(c)
	if err != nil {
		return nil, 0, err
	}
	if shares, err = o.reached(c, shares); err == nil && len(shares) == 1 {
		o.fill(&o.task, c, t, shares[0], c.Outers)
	}
	return shares, t, err
}

// fanout checks the number of fragments against the session's limits.
func (o *gatherOp) fanout(c *Ctx, shares []shardmap.Share) error {
	n, name := len(shares), "?"
	if t := o.node.Route.Table; t != nil {
		name = t.Name
	}
	if limit := c.Limits.MaxFanout; limit > 0 && n > limit {
		return pgerr.New(pgerr.ConfigurationLimitExceeded,
			"reading %q would reach %d fragments, more than sherd.max_fanout allows (%d)", name, n, limit).
			WithHint("Give the whole primary key or all fields of the sharding policy in WHERE, " +
				"or raise sherd.max_fanout.")
	}
	if notice := c.Limits.FanoutNotice; notice > 0 && n > notice && c.Hooks.Notice != nil {
		e := pgerr.New(pgerr.SuccessfulCompletion, "reading %q reaches %d fragments", name, n)
		e.Severity = "NOTICE"
		c.Hooks.Notice(e)
	}
	return nil
}

func (o *gatherOp) fill(t *Task, c *Ctx, at txn.Timestamp, s shardmap.Share, outers types.Row) {
	if o.ahead != nil {
		outers = o.outersFor(c, s)
	}
	*t = Task{
		Txn: c.Gateway.Txn, T: at, Epoch: c.Gateway.Map.Epoch(), Buckets: s.Buckets, Plan: o.node.Child,
		Params: c.Params, Outers: outers,
		Env: c.Env, Session: c.Session, Mem: c.Mem, Limits: c.Limits, Seen: c.seen(s.Fragment), program: o.program,
	}
	if c.Analyze != nil {
		t.work = &c.Analyze.Steps
	}
	if x := o.index; x != nil {
		t.Found, t.FoundBy = x.found, x.values.scan.N
	}
}

// one runs the task in the caller's goroutine.
func (o *gatherOp) one(c *Ctx, s shardmap.Share, emit Emit) error {
	f, err := c.Gateway.Fragment(s.Fragment)
	if err != nil {
		return err
	}
	var sent *counter
	if c.Analyze != nil || c.Partial != nil {
		sent = &counter{emit: emit}
		emit = sent.take
	}
	r, err := c.Gateway.run(c.ctx(), f, &o.task, emit)
	c.Affected += r.Affected
	c.Keys.Merge(r.Keys)
	if c.Analyze != nil {
		c.Analyze.add(o.node, s, r, *sent)
	}
	if !o.whole && c.Partial != nil && c.lost(err, sent.rows) {
		c.Partial.lacks([]Missing{{s.Fragment, err}})
		return nil
	}
	return c.fault(err)
}

// many runs the fragments' tasks and merges their rows.
func (o *gatherOp) many(c *Ctx, t txn.Timestamp, shares []shardmap.Share, emit Emit) error {
	ctx, cancel := context.WithCancel(c.ctx())
	w := &workers{ctx: ctx, gateway: c.Gateway, seen: c.seen, order: o.merge}
	if !o.whole {
		w.lost = c.lost
	}
	defer func() {
		cancel()
		w.wait()
	}()
	outers := slices.Clone(c.Outers)
	for _, s := range shares {
		f, err := c.Gateway.Fragment(s.Fragment)
		if err != nil {
			return err
		}
		task := &Task{}
		o.fill(task, c, t, s, outers)
		w.start(f, task, s)
	}
	err := w.collect(emit)
	cancel()
	w.wait()
	c.Gateway.adopt(w.newest)
	var list []Missing
	for _, p := range w.all {
		if p.missing != nil {
			list = append(list, Missing{p.share.Fragment, p.missing})
		}
	}
	if len(list) > 0 {
		c.Partial.lacks(list)
	}
	each(w.all, func(p *worker) {
		c.Affected += p.result.Affected
		c.Keys.Merge(p.result.Keys)
		if c.Analyze != nil {
			c.Analyze.add(o.node, p.share, p.result, p.sent)
		}
	})
	if err != nil {
		return c.fault(err)
	}
	return c.Cancelled()
}

// workers are the running tasks of one Gather. Tasks on this node begin one after the other in the
// gateway's goroutine, because most tasks of short statements end sooner than another goroutine
// wakes up. When one of them turns out to be long, all that have not ended go on in parallel.
type workers struct {
	ctx     context.Context
	all     []*worker
	gateway *Gateway
	seen    func(id shardmap.FragmentID) *txn.Mark // of tasks for a fragment
	lost    func(err error, sent int64) bool       // the answer does without a fragment; nil: never
	// Of the rows; if it is empty, rows arrive in any order.
	order  operator.Ordering
	shared chan *batch // unordered
	idle   *runner     // that has run a task in turn; nil: there is none
	wg     sync.WaitGroup
	pool   sync.Pool

	mu sync.Mutex
	// Map by which a task was split again; guarded by mu until all have ended.
	newest *shardmap.Map
}

// worker is the running task of one fragment.
type worker struct {
	share    shardmap.Share
	fragment Fragment
	task     *Task
	runner   *runner     // nil: it has not begun, or it has ended
	parallel bool        // the runner is driven by a goroutine of its own
	out      chan *batch // of a parallel task
	sent     counter
	last     bool // no batch comes behind the present one
	done     bool // of a task in turn: it has ended
	batches  int
	result   Result // set before the worker ends
	err      error
	missing  error     // why the answer does without the fragment
	inner    []*worker // replace this one if its buckets had moved
}

// Batches that a fragment may be ahead of the gateway. A LIMIT may end a merge soon.
const (
	batchesAhead       = 4
	mergedBatchesAhead = 1
)

// here is a fragment whose tasks run in the goroutine that runs them.
type here interface{ Here() bool }

// runner is a coroutine that runs tasks, one after the other: the stack of the next one has grown.
type runner struct {
	// next runs the task of the worker until it has a batch, and stop ends it. A batch that is nil says
	// that the task has read many rows, and ended that it is over.
	next   func() (*batch, bool)
	stop   func()
	worker *worker
}

var ended = &batch{}

func (w *workers) newRunner() *runner {
	r := &runner{}
	r.next, r.stop = iter.Pull(func(yield func(*batch) bool) {
		for r.worker != nil {
			p := r.worker
			if r.worker = nil; !w.work(p, yield) || !yield(ended) {
				return
			}
		}
	})
	return r
}

// next runs the task of a worker until it has a batch, which may be nil; ok is false at its end.
func (w *workers) next(p *worker) (b *batch, ok bool) {
	if p.runner == nil {
		if p.runner, w.idle = w.idle, nil; p.runner == nil {
			p.runner = w.newRunner()
		}
		p.runner.worker = p
	}
	b, ok = p.runner.next()
	return b, ok && b != ended
}

func (w *workers) start(f Fragment, task *Task, s shardmap.Share) {
	p := &worker{share: s, fragment: f, task: task}
	w.all = append(w.all, p)
	if x, ok := f.(here); !ok || !x.Here() || task.Changes() {
		w.run(p)
	}
}

// run has a task go on in a goroutine of its own.
func (w *workers) run(p *worker) {
	switch {
	case w.merging():
		p.out = make(chan *batch, mergedBatchesAhead)
	case w.shared == nil:
		w.shared = make(chan *batch, batchesAhead)
		fallthrough
	default:
		p.out = w.shared
	}
	if p.parallel = true; p.runner == nil {
		p.runner = w.newRunner()
		p.runner.worker = p
	}
	w.wg.Go(func() {
		defer p.runner.stop()
		if w.merging() {
			defer close(p.out)
		}
		for {
			b, ok := w.next(p)
			switch {
			case !ok:
				return
			case b == nil:
				continue
			}
			select {
			case p.out <- b:
			case <-w.ctx.Done():
				return
			}
		}
	})
}

// spread has all tasks go on in parallel.
func (w *workers) spread() {
	for _, p := range w.all {
		if !p.parallel && !p.last {
			w.run(p)
		}
	}
}

// work runs a task and yields its rows in batches. It returns false if no more are wanted.
func (w *workers) work(p *worker, yield func(*batch) bool) (wanted bool) {
	b, task := w.batch(), p.task
	send := func() error {
		if !yield(b) {
			return operator.ErrStop
		}
		b = w.batch()
		return nil
	}
	start, size := time.Now(), batchRows
	if w.merging() {
		size = firstBatchRows
	}
	take := func(row types.Row) error {
		p.sent.rows++
		p.sent.bytes += b.add(row)
		if len(b.rows) < size && !b.full() {
			return nil
		}
		size = min(size*batchRowsStep, batchRows)
		return send()
	}
	task.pause = func() {
		if !p.parallel {
			yield(nil) // if the gateway needs no more rows, it has cancelled the context
		}
	}
	p.result, p.err = w.gateway.run(w.ctx, p.fragment, task, take)
	if moved := (*txn.MovedError)(nil); errors.As(p.err, &moved) && p.sent.rows == 0 {
		p.err = w.elsewhere(p, task, p.err, take)
	}
	if p.err != nil && w.lost != nil && w.lost(p.err, p.sent.rows) {
		p.missing, p.err = p.err, nil
	}
	if p.result.Elapsed == 0 {
		p.result.Elapsed = time.Since(start)
	}
	// The gateway needs no more rows; errStop of the task's own plan does not leave it.
	if p.err == operator.ErrStop {
		p.err = nil
	}
	if p.last = true; p.err != nil {
		b.rows, b.err = nil, p.err
	}
	if b.err != nil || len(b.rows) > 0 {
		return yield(b)
	}
	w.pool.Put(b)
	return true
}

func (w *workers) merging() bool { return len(w.order) > 0 }

// collect emits the rows of the workers.
func (w *workers) collect(emit Emit) error {
	if w.merging() {
		return w.merge(w.order, emit)
	}
	return w.unordered(emit)
}

// wait ends all tasks; the context is cancelled by then.
func (w *workers) wait() {
	for _, p := range w.all {
		if !p.parallel && p.runner != nil {
			p.runner.stop()
		}
	}
	if w.idle != nil {
		w.idle.stop()
	}
	w.wg.Wait()
}

func (w *workers) batch() *batch {
	if b, ok := w.pool.Get().(*batch); ok {
		b.reset()
		return b
	}
	return &batch{}
}

// advance runs a task that is not parallel until it has a batch; ok is false at its end. If it is
// long, all tasks go on in parallel, and there may be no batch yet.
func (w *workers) advance(p *worker) (b *batch, ok bool) {
	if p.done {
		return nil, false
	}
	if b, ok = w.next(p); !ok {
		p.last, p.done = true, true
		w.idle, p.runner = p.runner, nil
		return nil, false
	}
	if p.last { // the runner is for the next task
		p.done = true
		w.next(p)
		w.idle, p.runner = p.runner, nil
		return b, true
	}
	p.batches++
	if long := b == nil || !w.merging() || p.batches > 1; long {
		w.spread()
	}
	return b, true
}

// fetch returns the next batch of a worker whose rows are merged; ok is false at the end.
func (w *workers) fetch(p *worker) (b *batch, ok bool) {
	for !p.parallel {
		if b, ok = w.advance(p); !ok || b != nil {
			return b, ok
		}
	}
	b, ok = <-p.out
	return b, ok
}

func (w *workers) unordered(emit Emit) error {
	for _, p := range w.all {
		for !p.parallel {
			b, ok := w.advance(p)
			if !ok {
				break
			}
			if err := w.emit(b, emit); err != nil {
				return err
			}
		}
	}
	if w.shared == nil {
		return nil
	}
	go func() {
		w.wg.Wait()
		close(w.shared)
	}()
	for b := range w.shared {
		if err := w.emit(b, emit); err != nil {
			return err
		}
	}
	return nil
}

// emit emits the rows of a batch; nil has none.
func (w *workers) emit(b *batch, emit Emit) error {
	if b == nil {
		return nil
	}
	if b.err != nil {
		return b.err
	}
	for _, r := range b.rows {
		if err := emit(r); err != nil {
			return err
		}
	}
	w.pool.Put(b)
	return nil
}
