package locks

import (
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/txn"
)

// barrier waits until some owners have released an object. Its fields are guarded by the object's
// stripe.
type barrier struct {
	owner *Owner // the waiting owner
	since time.Time
	left  []*Owner
	done  chan struct{} // closed when no owner is left
}

// Barrier returns when every other session's transaction that now holds a lock on an object has
// released it. It does not stop new transactions: they see what was changed before the call. The
// error is 40P01, Withhold's error for AccessExclusive, or the context's cause.
func (o *Owner) Barrier(ctx context.Context, tag Tag) error {
	session := o.session.Load()
	m := session.m
	if err := m.refusal(tag, AccessExclusive); err != nil {
		return err
	}
	s := m.stripe(tag)
	s.mu.Lock()
	obj := s.objects[tag]
	if obj == nil {
		s.mu.Unlock()
		return nil
	}
	b := &barrier{owner: o, since: time.Now(), done: make(chan struct{})}
	for _, h := range obj.holds {
		if h.owner.session.Load() != session {
			b.left = append(b.left, h.owner)
		}
	}
	if len(b.left) == 0 {
		s.mu.Unlock()
		return nil
	}
	obj.barriers = append(obj.barriers, b)
	left := slices.Clone(b.left)
	s.mu.Unlock()
	err := m.pass(ctx, o, tag, b, left)
	s.mu.Lock()
	obj.barriers = slices.DeleteFunc(obj.barriers, func(x *barrier) bool { return x == b })
	obj.tidy(s)
	s.mu.Unlock()
	return err
}

func (m *Manager) pass(ctx context.Context, owner *Owner, tag Tag, b *barrier, left []*Owner) error {
	ended := make(chan error, 1)
	w := txn.Wait{Waiter: owner.lockOwner(), Lock: Share.String(), Object: tag.String()}
	w.End = func(err error) {
		select {
		case ended <- err:
		default:
		}
	}
	blockers := make([]txn.LockOwner, len(left))
	for i, o := range left {
		blockers[i] = o.lockOwner()
	}
	if err := m.detector.Block(&w, blockers...); err != nil {
		return err
	}
	defer m.detector.Done(&w)
	select {
	case <-b.done:
		return nil
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// left informs the barriers that an owner holds nothing on the object any more. The stripe is held.
func (o *object) left(owner *Owner) {
	for _, b := range o.barriers {
		if len(b.left) == 0 {
			continue
		}
		b.left = slices.DeleteFunc(b.left, func(x *Owner) bool { return x == owner })
		if len(b.left) == 0 {
			close(b.done)
		}
	}
}
