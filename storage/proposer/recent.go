package proposer

import (
	"slices"

	"github.com/sherddb/sherd/txn"
)

// Proposed is an entry that was proposed a moment ago: validations look at what it writes.
type Proposed struct {
	Stamp uint64
	Body  []byte // nil: too large to be kept; it may write anything
}

// recent has the newest proposals, those that are not applied and some that are.
type recent struct {
	list  []Proposed
	bytes int
	cut   uint64 // largest stamp that is not in the list any more
}

const (
	keptEntries = 256
	keptBytes   = 1 << 20
	keptBody    = 64 << 10
)

// add records a proposal, and drops applied ones.
func (f *recent) add(stamp uint64, body []byte, applied uint64) {
	if len(body) > keptBody {
		body = nil
	}
	f.list = append(f.list, Proposed{stamp, body})
	f.bytes += len(body)
	if len(f.list) <= keptEntries && f.bytes <= keptBytes {
		return
	}
	n := 0
	for n < len(f.list) && f.list[n].Stamp <= applied &&
		(len(f.list)-n > keptEntries/2 || f.bytes > keptBytes/2) {
		f.bytes -= len(f.list[n].Body)
		f.cut = f.list[n].Stamp
		n++
	}
	f.list = slices.Delete(f.list, 0, n)
}

// since returns the entries stamped above after.
func (f *recent) since(after uint64) []Proposed {
	n := len(f.list)
	for n > 0 && f.list[n-1].Stamp > after {
		n--
	}
	return f.list[n:]
}

// ProposedSince returns the entries that were stamped above after and are not applied, the largest
// stamp enqueued, and the largest stamp applied before the call.
func (p *Proposer) ProposedSince(after txn.Timestamp) (list []Proposed, last, applied uint64) {
	applied = p.Applied.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.recent.since(max(applied, uint64(after)))), p.last, applied
}

// NoneSince reports whether all entries stamped above after are known and none of them hits. Called
// with the lock held.
func (p *Proposer) NoneSince(after txn.Timestamp, hit func(Proposed) bool) bool {
	return p.recent.cut <= uint64(after) && !slices.ContainsFunc(p.recent.since(uint64(after)), hit)
}
