package locktable

import (
	"slices"
	"sort"

	"github.com/sherddb/sherd/txn"
)

// Undone is what a return to a savepoint takes back. The locks are still there until Release.
type Undone struct {
	// Known are the keys of rows that the transaction knows by a lock that it releases: until now
	// no other transaction could change them.
	Known []string
	// Span is a span in which more such rows may lie, whose keys are not known any more; nil: none.
	Span *txn.Span

	owner   *Owner
	number  int32
	gone    []*Lock
	changes []change
}

// Undo takes back the locks and the changes of locks above a number of Count. If there were fewer,
// as after a new term, it does nothing.
func (o *Owner) Undo(number int) (u Undone) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if number > int(o.number) {
		return u
	}
	keep := sort.Search(len(o.held), func(i int) bool { return int(o.held[i].number) > number })
	first := sort.Search(len(o.changes), func(i int) bool { return int(o.changes[i].number) > number })
	u = Undone{owner: o, number: int32(number), gone: o.held[keep:], changes: o.changes[first:]}
	u.findKnown()
	o.held, o.changes = o.held[:keep:keep], o.changes[:first:first]
	o.last.Store(nil)
	o.number = int32(number)
	for _, c := range slices.Backward(u.changes) {
		if c.l.pinned && !c.before.pinned {
			c.l.pinned, c.l.onDisk = false, false
			o.pins--
		}
		c.l.Row.Known = c.l.Row.Known && c.before.mode >= txn.Share
	}
	for _, l := range u.gone {
		if l.pinned {
			o.pins--
		}
	}
	if o.pinFile != nil {
		o.pinFile.cut(number)
	}
	if set := o.set.Load(); set != nil {
		c := set.cut(number)
		o.pins -= c.pins
		u.Span = c.span
		u.gone = append(slices.Clone(u.gone), c.gone...)
		u.changes = append(o.weakenedInSet(set), u.changes...)
	}
	return u
}

func (u *Undone) findKnown() {
	for _, l := range u.gone {
		if l.Row.Known {
			u.Known = append(u.Known, l.key)
		}
	}
	for _, c := range u.changes {
		if c.l.Row.Known && c.before.mode < txn.Share {
			u.Known = append(u.Known, c.l.key)
		}
	}
}

// weakenedInSet returns the locks of the set that are also in the table, and that are weaker in the
// set now than before a return to a savepoint: those that were not changed since they came into the
// table. Called with mu held.
func (o *Owner) weakenedInSet(set *compactSet) (out []change) {
	changed := map[*Lock]bool{}
	for _, c := range o.changes {
		changed[c.l] = true
	}
	for _, l := range set.unpackedLocks() {
		x := set.state(o.table.hashOf(l.key))
		if changed[l] || x.mode == 0 {
			continue
		}
		if !x.pinned {
			l.pinned, l.onDisk = false, false
		}
		if x.mode < l.mode {
			l.Row.Known = l.Row.Known && x.mode >= txn.Share
			out = append(out, change{l: l, before: held{mode: x.mode}})
		}
	}
	return out
}

// Release releases the locks taken since the savepoint, and weakens those made stronger since.
func (u *Undone) Release() {
	for _, c := range slices.Backward(u.changes) {
		if c.l.number <= u.number && c.before.mode < c.l.mode {
			u.owner.table.weaken(c.l, c.before.mode)
		}
	}
	for _, l := range u.gone {
		u.owner.table.release(l)
	}
}
