package exec

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/txn"
)

// Buckets move while statements run. If a fragment does not own a task's buckets any more, it
// refuses the task before it has done anything (*txn.MovedError). The task is then split by a newer
// map and runs, at the same timestamp, in the fragments that own its buckets now. Results and
// writes of other tasks stay as they are: each bucket is read or written once, wherever it is.

// maxReroutes limits how often one task is split again.
const maxReroutes = 64

// rerouted returns a newer map if a task that was made with the map of an epoch was refused. ok is
// false if err has another meaning, or if there is no such map.
func (g *Gateway) rerouted(ctx context.Context, err error, epoch uint64) (m *shardmap.Map, ok bool, _ error) {
	var moved *txn.MovedError
	if g.Renew == nil || !errors.As(err, &moved) {
		return nil, false, err
	}
	m, renewed := g.Renew(ctx, epoch)
	if renewed != nil {
		return nil, false, renewed
	}
	return m, true, nil
}

// adopt makes the rest of the statement use a newer map.
func (g *Gateway) adopt(m *shardmap.Map) {
	if m != nil && m.Epoch() > g.Map.Epoch() {
		g.Map = m
	}
}

// Changes reports whether a plan may change the transaction's write buffer or locks.
func Changes(n plan.Node) bool {
	switch n.(type) {
	case plan.Stage, plan.LockKeys, *plan.Fill, *plan.Modify, *plan.Merge, *plan.LockRows:
		return true
	}
	for _, c := range n.Children() {
		if Changes(c) {
			return true
		}
	}
	return false
}

// Changes reports whether the task may change the transaction's write buffer or locks.
func (t *Task) Changes() bool {
	if t.program != nil {
		return t.program.changes
	}
	return Changes(t.Plan)
}

// elsewhere runs a refused task of a worker in the fragments that own its buckets now.
func (w *workers) elsewhere(p *worker, task *Task, refused error, emit Emit) error {
	m, ok, err := w.gateway.rerouted(w.ctx, refused, task.Epoch)
	if !ok {
		return err
	}
	w.note(m)
	if task.rerouted++; task.rerouted > maxReroutes {
		return refused
	}
	ctx, cancel := context.WithCancel(w.ctx)
	inner := &workers{ctx: ctx, gateway: w.gateway, seen: w.seen, order: w.order}
	defer func() {
		cancel()
		inner.wait()
		p.inner = inner.all
		w.note(inner.newest)
	}()
	for _, s := range m.Split(p.share.Buckets) {
		f, err := w.gateway.Fragment(s.Fragment)
		if err != nil {
			return err
		}
		t := *task
		t.Epoch, t.Buckets, t.Seen = m.Epoch(), s.Buckets, w.seen(s.Fragment)
		inner.start(f, &t, s)
	}
	return inner.collect(emit)
}

// note records the newest map that a worker has seen.
func (w *workers) note(m *shardmap.Map) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m != nil && (w.newest == nil || m.Epoch() > w.newest.Epoch()) {
		w.newest = m
	}
}

// each calls f with every worker whose task was run. A refused worker is replaced by the workers
// that got its buckets.
func each(list []*worker, f func(p *worker)) {
	for _, p := range list {
		if p.inner == nil {
			f(p)
		}
		each(p.inner, f)
	}
}

// elsewhere writes a refused part in the fragments that own its buckets now.
func (s *sender) elsewhere(p *part, epoch uint64, refused error) error {
	g := s.c.Gateway
	m, ok, err := g.rerouted(s.c.ctx(), refused, epoch)
	if !ok {
		return err
	}
	by := map[shardmap.FragmentID]*part{}
	for i := range p.writes {
		id := m.Lookup(shardmap.Bucket(p.buckets[i].Lo))
		q := by[id]
		if q == nil {
			q = &part{fragment: id, epoch: m.Epoch(), t: p.t, rerouted: p.rerouted + 1}
			by[id], p.inner = q, append(p.inner, q)
		}
		q.writes, q.buckets = append(q.writes, p.writes[i]), append(q.buckets, p.buckets[i])
	}
	for _, q := range p.inner {
		if err := s.stage(q); err != nil {
			return err
		}
	}
	return nil
}

// flat returns the parts that were written. A refused part is replaced by the parts that got its
// buckets.
func flat(parts []*part) []*part {
	for i, p := range parts {
		if p.inner == nil {
			continue
		}
		out := append([]*part(nil), parts[:i]...)
		for _, p := range parts[i:] {
			if p.inner == nil {
				out = append(out, p)
				continue
			}
			out = append(out, flat(p.inner)...)
		}
		return out
	}
	return parts
}
