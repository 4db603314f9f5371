package storage

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keysummary"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// A scan waits for the pieces that have its rows, and not for the whole transaction: these pieces
// are installed at once, out of turn and without the pauses between the others. Only the order of
// the writes changes. Until all pieces are in the database, only the installer uses which of them
// are, and a piece that is written twice writes the same keys at the same version.

const (
	wantedWorkers    = 2               // pieces that a replica installs at once for readers
	longestWantedNap = 2 * time.Second // for a wanted piece while level 0 is full
)

// pieceSet says which pieces of an install are in the database.
type pieceSet struct {
	mu      sync.Mutex
	in      []bool                // guarded by mu
	left    int                   // that are not in; guarded by mu
	waiting map[int]chan struct{} // closed when the piece is in; guarded by mu
	flying  int                   // workers that write one; guarded by mu
	landed  *sync.Cond            // one of these has ended
	dead    bool                  // the database is about to be replaced; guarded by mu
}

func (x *install) makePieces() {
	n := x.o.own + len(x.o.indexes)
	x.pieces.in, x.pieces.left = make([]bool, n), n
	x.pieces.landed = sync.NewCond(&x.pieces.mu)
}

// isIn reports whether piece n is in the database.
func (p *pieceSet) isIn(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in[n]
}

// arrived notes that piece n is in the database.
func (p *pieceSet) arrived(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in[n] {
		return
	}
	p.in[n] = true
	p.left--
	if ch := p.waiting[n]; ch != nil {
		close(ch)
		delete(p.waiting, n)
	}
}

// kill ends all waits: what is not in the database will not be written.
func (p *pieceSet) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	for _, ch := range p.waiting {
		close(ch)
	}
	p.waiting = nil
}

// over reports whether nothing has to be read from the pieces any more: all are in the database, or
// the database is about to be replaced.
func (p *pieceSet) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead || p.left == 0
}

// settle waits until no worker writes a piece, and reports whether all are in.
func (p *pieceSet) settle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.flying > 0 {
		p.landed.Wait()
	}
	return p.left == 0
}

// place is where a reader is about to look.
type place interface {
	of(p *preparedTxn) bool            // whether p may write there
	eachSpan(fn func(s txn.Span) bool) // what it covers, until fn returns false
}

// spanPlace is a span.
type spanPlace txn.Span

func (s spanPlace) of(p *preparedTxn) bool { return p.touches(txn.Span(s)) }

func (s spanPlace) eachSpan(fn func(s txn.Span) bool) { fn(txn.Span(s)) }

// missing returns the pieces of x that have to be installed before a place is read.
func (x *install) missing(at place) (list []int) {
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	if x.pieces.left == 0 {
		return nil
	}
	at.eachSpan(func(s txn.Span) bool {
		x.o.keys.EachPiece(s, func(n int, p *keysummary.Piece) bool {
			for i := p.First; i <= n; i++ {
				if !x.pieces.in[i] && !slices.Contains(list, i) {
					list = append(list, i)
				}
			}
			return len(list) < wantedAhead
		})
		return len(list) < wantedAhead
	})
	return list
}

// wantedAhead bounds how many pieces one reader asks for at a time.
const wantedAhead = 64

// waitAt is waitSettled for a place: of a transaction that is being installed, it waits only for
// the pieces that write there.
func (r *rowReader) waitAt(ctx waitContext, T txn.Timestamp, own txn.ID, at place) error {
	return r.waitFor(ctx, func() <-chan struct{} {
		p := r.txns.find(T, own, func(p *preparedTxn) bool {
			return at.of(p) && (p.install == nil || len(p.install.missing(at)) > 0)
		})
		switch {
		case p == nil:
			return nil
		case p.install == nil:
			return p.settled
		}
		return r.installs.want(p, p.install.missing(at))
	})
}

// wanted is a piece that is waited for.
type wanted struct {
	x *install
	n int
}

// want has pieces of p installed now, and returns a channel that is closed when the caller should
// look again.
func (i *installer) want(p *preparedTxn, list []int) <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	select {
	case <-i.r.stopper.Stopped():
		return p.settled
	default:
	}
	x := p.install
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	if x.pieces.dead {
		return p.settled
	}
	var first chan struct{}
	for _, n := range list {
		if x.pieces.in[n] {
			continue
		}
		ch := x.pieces.waiting[n]
		if ch == nil {
			if x.pieces.waiting == nil {
				x.pieces.waiting = map[int]chan struct{}{}
			}
			ch = make(chan struct{})
			x.pieces.waiting[n] = ch
			i.wants = append(i.wants, wanted{x, n})
		}
		if first == nil {
			first = ch
		}
	}
	if first == nil {
		return closedChannel
	}
	for i.workers < min(wantedWorkers, len(i.wants)) {
		i.workers++
		i.begin()
		go i.work()
	}
	return first
}

var closedChannel = func() chan struct{} { ch := make(chan struct{}); close(ch); return ch }()

// work installs what is wanted until nothing is.
func (i *installer) work() {
	for {
		i.mu.Lock()
		if len(i.wants) == 0 {
			i.workers--
			i.end()
			i.mu.Unlock()
			return
		}
		w := i.wants[0]
		i.wants = i.wants[1:]
		i.mu.Unlock()
		i.bring(w.x, w.n)
	}
}

// bring installs piece n of x, unless it is there.
func (i *installer) bring(x *install, n int) {
	p := &x.pieces
	p.mu.Lock()
	if p.dead || p.in[n] {
		p.mu.Unlock()
		return
	}
	p.flying++
	p.mu.Unlock()
	err := i.writePiece(x, n, true)
	if err == nil {
		p.arrived(n)
	}
	p.mu.Lock()
	p.flying--
	p.landed.Broadcast()
	p.mu.Unlock()
	if err != nil && !errors.Is(err, engine.ErrHalted) {
		i.fail(x, err)
	}
}

// settledPart cuts a span if a scan from its beginning (reverse: from its end) would have to wait
// for more than n pieces: the scan reads the part, and then the rest if there is more. If no rows
// are on their way, the part is the whole span.
func (v *View) settledPart(span txn.Span, reverse bool, n int) (part, rest txn.Span, more bool) {
	if !rule.T3Installed || v.r.txns.undecided.Load() == 0 {
		return span, rest, false
	}
	var edges [][]byte // where the pieces begin or end
	v.r.txns.mu.RLock()
	for _, p := range v.r.txns.installing {
		if p.C <= v.T && p.install != nil && p.touches(span) {
			edges = p.install.edges(edges, span, reverse)
		}
	}
	v.r.txns.mu.RUnlock()
	if len(edges) <= n {
		return span, rest, false
	}
	slices.SortFunc(edges, slices.Compare)
	if reverse {
		slices.Reverse(edges)
	}
	at := edges[n]
	part, rest = txn.Span{Start: span.Start, End: at}, txn.Span{Start: at, End: span.End}
	if reverse {
		part, rest = rest, part
	}
	return part, rest, true
}

// edges adds the keys within a span at which pieces that are not in the database begin, or end.
func (x *install) edges(list [][]byte, span txn.Span, reverse bool) [][]byte {
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	if x.pieces.left == 0 {
		return list
	}
	x.o.keys.EachPiece(span, func(n int, p *keysummary.Piece) bool {
		at := p.Least
		if reverse {
			at = append(slices.Clip(p.Most), 0)
		}
		if !x.pieces.in[n] && string(at) > string(span.Start) && (len(span.End) == 0 || string(at) < string(span.End)) {
			list = append(list, at)
		}
		return true
	})
	return list
}
