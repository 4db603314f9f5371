package locktable

import (
	"os"
	"slices"
)

// addSet makes the set of o visible to other owners.
func (lt *Table) addSet(o *Owner) {
	lt.smu.Lock()
	defer lt.smu.Unlock()
	list := []*Owner{o}
	if old := lt.sets.Load(); old != nil {
		list = append(list, *old...)
	}
	lt.sets.Store(&list)
}

func (lt *Table) dropSet(o *Owner) {
	lt.smu.Lock()
	defer lt.smu.Unlock()
	old := lt.sets.Load()
	if old == nil {
		return
	}
	list := slices.DeleteFunc(slices.Clone(*old), func(x *Owner) bool { return x == o })
	if len(list) == 0 {
		lt.sets.Store(nil)
		return
	}
	lt.sets.Store(&list)
}

// unpack puts those locks of a row into the table that are in sets, and returns its first holder,
// nil if there is none. Called with the stripe's mu held, if the table has no entry for the row.
func (lt *Table) unpack(s *stripe, hash uint64, key []byte) *Lock {
	sets := lt.sets.Load()
	if sets == nil {
		return nil
	}
	var entry *Lock
	for _, o := range *sets {
		l := o.set.Load().unpack(o, hash, key)
		switch {
		case l == nil:
		case entry == nil:
			entry = l
			s.locks[l.key] = l
		default:
			entry.contend()
			entry.contention.join(l)
		}
	}
	return entry
}

// compact moves a lock from the table into the set of its owner, if the row has no other holder and
// no waiter. Called with the owner's mu held.
func (lt *Table) compact(l *Lock, changes []change) bool {
	hash := lt.hashOf(l.key)
	s := &lt.stripes[hash%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks[l.key] != l || l.contention != nil {
		return false
	}
	before := func(i int) held { // state before change i
		if i < len(changes) {
			return changes[i].before
		}
		return held{l.mode, l.pinned}
	}
	set := l.owner.set.Load()
	if !l.unpacked {
		h := before(0)
		set.add(hash, l.key, h.mode, l.number, h.pinned)
	}
	for i, c := range changes {
		h := before(i + 1)
		set.add(hash, l.key, h.mode, c.number, h.pinned && !c.before.pinned)
	}
	delete(s.locks, l.key)
	return true
}

// Full reports whether the owner has so many locks that Compact would make them smaller.
func (o *Owner) Full() bool { return o.full.Load() }

// Compact moves locks that no other transaction shares or waits for from the table into the owner's
// set. The newest stay, because they are requested again. It makes a file by create if it needs
// one, for the keys of pinned locks.
func (o *Owner) Compact(create func() (*os.File, error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.full.Load() {
		return
	}
	n := len(o.held) - o.table.cfg.Whole/8
	set := o.set.Load()
	if set == nil {
		set = &compactSet{}
		o.set.Store(set)
		o.table.addSet(o)
	}
	changes := map[*Lock][]change{}
	for _, c := range o.changes {
		changes[c.l] = append(changes[c.l], c)
	}
	compact := func(l *Lock) bool {
		if !o.compactLock(l, changes[l], create) {
			return false
		}
		delete(changes, l)
		return true
	}
	kept := o.held[:0]
	for i, l := range o.held {
		if i >= n || !compact(l) {
			kept = append(kept, l)
		}
	}
	clear(o.held[len(kept):])
	o.held = kept
	set.putBack(slices.DeleteFunc(set.takeUnpacked(), compact))
	o.changes = slices.DeleteFunc(o.changes, func(c change) bool { return changes[c.l] == nil })
	o.compactAt = 2 * o.whole()
	o.full.Store(false)
}

// whole returns how many locks and changes of locks take more memory than those in the set. Called
// with mu held.
func (o *Owner) whole() int {
	n := len(o.held) + len(o.changes)
	if set := o.set.Load(); set != nil {
		n += int(set.tabled.Load())
	}
	return n
}

// compactLock moves a lock with all its changes into the set, if possible. If the lock is pinned,
// its key goes into a file. Called with mu held.
func (o *Owner) compactLock(l *Lock, changes []change, create func() (*os.File, error)) bool {
	last := l.number
	if len(changes) > 0 {
		last = changes[len(changes)-1].number
	}
	if last > maxSetNumber || l == o.last.Load() {
		return false
	}
	if l.pinned {
		since := l.number
		for _, c := range changes {
			if !c.before.pinned {
				since = c.number // or a later one
			}
		}
		if o.keepKey(l, since, create) != nil {
			return false // it keeps its memory
		}
	}
	return o.table.compact(l, changes)
}

// keepKey writes the key of a pinned lock into the file before the lock comes into the set. Called
// with mu held.
func (o *Owner) keepKey(l *Lock, number int32, create func() (*os.File, error)) error {
	if l.onDisk {
		return nil
	}
	if o.pinFile == nil {
		f, err := create()
		if err != nil {
			return err
		}
		o.pinFile = newPinFile(f)
	}
	err := o.pinFile.add(number, l.key)
	l.onDisk = err == nil
	return err
}
