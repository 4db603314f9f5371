package raftlog

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// Group is the log and the stable store of one Raft group.
type Group struct {
	d    *Device
	id   uint64
	open bool // guarded by the device's mu

	order sync.Mutex // held by a call that changes the log, until it is on disk (L5)
	next  batch      // empty between calls; guarded by order
	done  chan error // guarded by order

	mu sync.RWMutex
	x  index // guarded by mu
}

// Close closes the group; its log stays.
func (g *Group) Close() error {
	g.order.Lock() // waits for a call under way
	defer g.order.Unlock()
	g.d.mu.Lock()
	defer g.d.mu.Unlock()
	g.open = false
	if g.empty() {
		delete(g.d.groups, g.id)
	}
	return nil
}

func (g *Group) empty() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.x.places) == 0 && len(g.x.values) == 0
}

// submit puts g.next on disk and empties it. The caller holds order.
func (g *Group) submit() error {
	defer g.next.reset()
	if g.done == nil {
		g.done = make(chan error, 1)
	}
	return g.d.submit(&request{batch: &g.next, g: g, done: g.done})
}

// publish applies records that are on disk to the index.
func (g *Group) publish(edits []edit, seg *segment, base uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range edits {
		if err := g.x.apply(&edits[i], seg, base); err != nil {
			panic("raftlog: " + err.Error()) // StoreLogs has checked the numbers
		}
	}
}

// FirstIndex implements raft.LogStore.
func (g *Group) FirstIndex() (uint64, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if len(g.x.places) == 0 {
		return 0, nil
	}
	return g.x.first, nil
}

// LastIndex implements raft.LogStore.
func (g *Group) LastIndex() (uint64, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if len(g.x.places) == 0 {
		return 0, nil
	}
	return g.x.last(), nil
}

// IsMonotonic implements raft.MonotonicLogStore: the log has no gaps.
func (g *Group) IsMonotonic() bool { return true }

// GetLog implements raft.LogStore.
func (g *Group) GetLog(i uint64, l *raft.Log) error {
	g.mu.RLock()
	p, ok := g.x.get(i)
	if !ok {
		g.mu.RUnlock()
		return raft.ErrLogNotFound
	}
	p.seg.use.RLock() // before the entry can leave the index, after which the file may be reused
	g.mu.RUnlock()
	defer p.seg.use.RUnlock()
	b, err := p.seg.read(p)
	if err != nil {
		return err
	}
	if err := decodeEntry(b[recordHead:], l); err != nil || l.Index != i {
		return damaged(p.seg.path(), "the record at %d is not entry %d of group %d", p.off, i, g.id)
	}
	return nil
}

// StoreLog implements raft.LogStore.
func (g *Group) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. Entries at or after the index of logs[0] are replaced. A
// failed call leaves none of its entries in the log, or returns ErrUnknown. If it failed before any
// of logs was written, the entries that it would have replaced stay.
func (g *Group) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	g.order.Lock()
	defer g.order.Unlock()
	if err := g.checkNext(logs); err != nil {
		return err
	}
	if last, _ := g.LastIndex(); logs[0].Index <= last {
		g.next.delete(kindSuffix, g.id, logs[0].Index)
	}
	for rest := logs; len(rest) > 0; {
		n, err := g.encode(rest)
		if err == nil {
			err = g.submit()
		}
		g.next.reset()
		if err != nil && len(rest) == len(logs) {
			return err
		}
		if err != nil {
			return g.takeBack(logs[0].Index, err)
		}
		rest = rest[n:]
	}
	return nil
}

// encode adds entries up to the size of a request to g.next and returns their number.
func (g *Group) encode(logs []*raft.Log) (n int, err error) {
	for n < len(logs) && (n == 0 || g.next.size+len(logs[n].Data) <= maxRequest) {
		if len(logs[n].Data)+len(logs[n].Extensions) > maxRecord-1024 {
			return n, fmt.Errorf("log entry %d is larger than 1 GiB", logs[n].Index)
		}
		if err := g.next.append(g.id, logs[n]); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// takeBack removes what a call that failed with err has stored from entry i on.
func (g *Group) takeBack(i uint64, err error) error {
	if last, _ := g.LastIndex(); last < i {
		return err
	}
	g.next.delete(kindSuffix, g.id, i)
	if g.submit() != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// checkNext refuses a gap (L5).
func (g *Group) checkNext(logs []*raft.Log) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if n := len(g.x.places); n > 0 && (logs[0].Index < g.x.first || logs[0].Index > g.x.last()+1) ||
		logs[0].Index == 0 {
		return fmt.Errorf("log of group %d: entry %d cannot follow %d", g.id, logs[0].Index, g.x.last())
	}
	for i, l := range logs[1:] {
		if l.Index != logs[i].Index+1 {
			return fmt.Errorf("log of group %d: entry %d cannot follow %d", g.id, l.Index, logs[i].Index)
		}
	}
	return nil
}

// DeleteRange implements raft.LogStore: from the first entry on, or up to the last.
func (g *Group) DeleteRange(lo, hi uint64) error {
	g.order.Lock()
	defer g.order.Unlock()
	first, _ := g.FirstIndex()
	last, _ := g.LastIndex()
	if first == 0 || lo > hi || hi < first || lo > last {
		return nil
	}
	switch {
	case lo <= first:
		g.next.delete(kindPrefix, g.id, min(hi, last))
	case hi >= last:
		g.next.delete(kindSuffix, g.id, lo)
	default:
		return fmt.Errorf("log of group %d: entries %d to %d are in the middle of %d to %d", g.id, lo, hi, first, last)
	}
	err := g.submit()
	g.d.wakeCleaner()
	return err
}

// Set implements raft.StableStore.
func (g *Group) Set(key, val []byte) error {
	g.order.Lock()
	defer g.order.Unlock()
	g.next.set(g.id, key, val)
	return g.submit()
}

// Get implements raft.StableStore; it returns nil if the key has no value.
func (g *Group) Get(key []byte) ([]byte, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	v, ok := g.x.values[string(key)]
	if !ok {
		return nil, nil
	}
	return append([]byte{}, v.bytes...), nil
}

// SetUint64 implements raft.StableStore.
func (g *Group) SetUint64(key []byte, val uint64) error {
	return g.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

// GetUint64 implements raft.StableStore; it returns 0 if the key has no value.
func (g *Group) GetUint64(key []byte) (uint64, error) {
	b, err := g.Get(key)
	if err != nil || len(b) == 0 {
		return 0, err
	}
	if len(b) != 8 {
		return 0, fmt.Errorf("log of group %d: %q is not a number", g.id, key)
	}
	return binary.BigEndian.Uint64(b), nil
}
