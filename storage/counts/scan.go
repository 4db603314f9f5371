package counts

import (
	"slices"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

const (
	mostScanned  = 64       // groups that are counted by one scan
	scannedBytes = 64 << 20 // in them, if there are several
)

// Wanted reports whether a group waits to be counted by bucket.
func (s *Sums) Wanted() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.exact.wanted) > 0
}

// NextWanted takes some groups off the list of those to be counted, or returns nil if there are
// none.
func (s *Sums) NextWanted() (out []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int64(0)
	for g := range s.exact.wanted {
		n := s.exact.bytes[g]
		if n <= ExactBytes || s.exact.counts[g] != nil {
			delete(s.exact.wanted, g)
			continue
		}
		if len(out) > 0 && (len(out) == mostScanned || size+n > scannedBytes) {
			break
		}
		out, size = append(out, g), size+n
		delete(s.exact.wanted, g)
	}
	return out
}

// Scan is a running count of the rows that are visible at one stamp in some groups. Its caller
// reads Spans at the stamp, adds every row, takes back the changes of transactions that come after
// the stamp although their rows were visible, and ends it by Finish or GiveUp.
type Scan struct {
	of     *Sums
	groups map[uint32]*exactCount
	tables []groupKey
	base   map[bucketKey]tally
}

// Begin begins to count groups, at the stamp up to which deltas were applied. Changes that are
// applied from then on are collected.
func (s *Sums) Begin(groups []uint32) *Scan {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &Scan{of: s, groups: map[uint32]*exactCount{}, base: map[bucketKey]tally{}}
	for _, g := range groups {
		if s.exact.counts[g] != nil {
			continue
		}
		c := &exactCount{sums: map[bucketKey]tally{}, dirty: map[bucketKey]struct{}{}}
		s.exact.counts[g], x.groups[g] = c, c
	}
	for k := range s.sums {
		if x.groups[k.group] != nil {
			x.tables = append(x.tables, k)
		}
	}
	slices.SortFunc(x.tables, compareGroup)
	return x
}

// Spans returns where the rows of the groups lie.
func (x *Scan) Spans() []txn.Span {
	out := make([]txn.Span, len(x.tables))
	for i, k := range x.tables {
		from, to := groupBounds(k.group)
		out[i] = keyspace.BucketSpan(k.table, from, to)
	}
	return out
}

// Add counts a row.
func (x *Scan) Add(key, value []byte) {
	b := bucketKey{keyspace.TableOf(key), keyspace.BucketOf(key)}
	have := x.base[b]
	x.base[b] = tally{have.docs + 1, have.bytes + int64(len(key)+len(value))}
}

// TakeBack subtracts encoded deltas of a transaction whose rows the scan has seen, and whose deltas
// are applied after the stamp.
func (x *Scan) TakeBack(stats []byte) error {
	return eachDelta(stats, func(d delta) {
		if d.exact && x.groups[d.group] != nil { // a delta of a group has made the count void
			have := x.base[d.bucketKey()]
			x.base[d.bucketKey()] = tally{have.docs - d.docs, have.bytes - d.bytes}
		}
	})
}

// stands reports whether the count of a group has not become void. Called with the sums' mu held.
func (x *Scan) stands(g uint32) bool {
	return x.groups[g] != nil && x.of.exact.counts[g] == x.groups[g]
}

// Finish adds the base to the changes, of groups whose count has not become void. No checkpoint may
// be made meanwhile: it has all of a base or nothing.
func (x *Scan) Finish() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	for k, v := range x.base {
		if g := groupOf(k.bucket); x.stands(g) {
			x.groups[g].set(k, v.docs, v.bytes)
		}
	}
	for g, c := range x.groups {
		if x.stands(g) {
			c.base, c.newer = true, true
		}
	}
}

// GiveUp has the groups counted another time.
func (x *Scan) GiveUp() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	for g := range x.groups {
		if x.stands(g) {
			x.of.exact.recount(g)
		}
	}
}

// Progress is how far the counts by bucket have come, in groups.
type Progress struct {
	Counted int // by bucket
	Running int // in a Scan
	Waiting int // above the limit
}

// Progress returns how far the counts by bucket have come.
func (s *Sums) Progress() (p Progress) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.exact.pending(func(uint32) { p.Waiting++ })
	for _, c := range s.exact.counts {
		if c.base {
			p.Counted++
		} else {
			p.Running++
		}
	}
	return p
}
