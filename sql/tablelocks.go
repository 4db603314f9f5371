package sql

import (
	"context"
	"sync"

	"github.com/sherddb/sherd/catalog"
)

// tableLocks keep definitions still while transactions use a table: every transaction shares a lock on what it reads and writes until it
// ends; a change of the definition takes it alone (PostgreSQL's ACCESS SHARE and ACCESS EXCLUSIVE). They are this node's: sessions of other
// nodes will need the table versions of C2.
//
// They cannot deadlock: an exclusive request holds nothing while it waits, and a shared one queues behind a waiting exclusive one only if
// its transaction holds no other table yet.
type tableLocks struct {
	mu     sync.Mutex
	tables map[catalog.OID]*tableLock // guarded by mu
}

type tableLock struct {
	shared    int
	exclusive bool
	waiting   int           // exclusive requests
	changed   chan struct{} // closed, and made anew, when anybody lets go
}

func newTableLocks() *tableLocks { return &tableLocks{tables: map[catalog.OID]*tableLock{}} }

// get gives the lock of a table; the caller holds mu.
func (t *tableLocks) get(oid catalog.OID) *tableLock {
	l := t.tables[oid]
	if l == nil {
		l = &tableLock{changed: make(chan struct{})}
		t.tables[oid] = l
	}
	return l
}

// share takes a shared lock; holding tells that the transaction has others.
func (t *tableLocks) share(ctx context.Context, oid catalog.OID, holding bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		l := t.get(oid)
		if !l.exclusive && (l.waiting == 0 || holding) {
			l.shared++
			return nil
		}
		if err := t.wait(ctx, l); err != nil {
			return err
		}
	}
}

// exclude takes the exclusive locks of all tables at once.
func (t *tableLocks) exclude(ctx context.Context, tables []catalog.OID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		busy := t.busy(tables)
		if busy == nil {
			for _, oid := range tables {
				t.get(oid).exclusive = true
			}
			return nil
		}
		busy.waiting++
		err := t.wait(ctx, busy)
		busy.waiting--
		if err != nil {
			t.wake(busy)
			return err
		}
	}
}

func (t *tableLocks) busy(tables []catalog.OID) *tableLock {
	for _, oid := range tables {
		if l := t.get(oid); l.exclusive || l.shared > 0 {
			return l
		}
	}
	return nil
}

// wait waits until somebody lets go of l; mu is held before and after.
func (t *tableLocks) wait(ctx context.Context, l *tableLock) error {
	changed := l.changed
	t.mu.Unlock()
	defer t.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return cancelled(ctx)
	}
}

func (t *tableLocks) wake(l *tableLock) {
	close(l.changed)
	l.changed = make(chan struct{})
}

// release lets go of locks.
func (t *tableLocks) release(tables []catalog.OID, exclusive bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, oid := range tables {
		l := t.tables[oid]
		if exclusive {
			l.exclusive = false
		} else {
			l.shared--
		}
		if exclusive || l.waiting > 0 && l.shared == 0 {
			t.wake(l)
		}
	}
}
