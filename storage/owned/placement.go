package owned

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
)

// Placement records by which ownership the keys of one transaction were placed: got their stored
// form. The zero value has no keys. All methods may be called concurrently.
type Placement struct {
	bare atomic.Bool // keys were placed when there was no ownership, and were not checked since
	mu   sync.Mutex
	// The ownerships under which keys were placed since all keys were last checked. A nil element:
	// nothing had ever moved; empty: no key was placed. Guarded by mu.
	owns []*Buckets
	// The ownership under which all placed keys are owned and not fenced, nil: to be checked.
	// Guarded by mu.
	intact *Buckets
}

// Place returns the stored form of a caller's key that is to be locked or read in its newest state.
// It waits while the key's bucket is fenced.
func (p *Placement) Place(ctx context.Context, s *Set, g *keyspace.Globals, key []byte) ([]byte, error) {
	o := s.Load()
	if o == nil {
		p.placedBare()
		return key, nil
	}
	b, ok := g.Bucket(key)
	if !ok {
		return key, nil
	}
	var at ownership.Piece
	o, err := s.Await(ctx, 0, func(o *Buckets) (ownership.Verdict, ownership.Piece) {
		at = o.Find(b)
		return at.Write(), at
	})
	if err != nil {
		return nil, err
	}
	p.under(o, true)
	return keyspace.Stored(key, at.Generation), nil
}

// PlaceNow is Place for a write whose row is locked already: a fence holds up the commit instead.
func (p *Placement) PlaceNow(s *Set, g *keyspace.Globals, key []byte) ([]byte, error) {
	o := s.Load()
	if o == nil {
		p.placedBare()
		return key, nil
	}
	b, ok := g.Bucket(key)
	if !ok {
		return key, nil
	}
	at := o.Find(b)
	if at.State != ownership.Owned && at.State != ownership.Fenced {
		return nil, &txn.MovedError{Fragment: s.cfg.Fragment, Move: at.Move}
	}
	p.under(o, at.State == ownership.Owned)
	return keyspace.Stored(key, at.Generation), nil
}

// placedBare records that a key was placed when nothing had ever moved. Later moves may affect it.
func (p *Placement) placedBare() {
	if !p.bare.Load() {
		p.bare.Store(true)
	}
}

// under records by which ownership a key was placed.
func (p *Placement) under(o *Buckets, owned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.owns) == 0 {
		p.intact = o
		if p.bare.Load() {
			p.owns, p.intact = append(p.owns, nil), nil
		}
	}
	if n := len(p.owns); n == 0 || p.owns[n-1] != o {
		p.owns = append(p.owns, o)
	}
	if p.intact != o || !owned {
		p.intact = nil
	}
}

// Adopt records that all keys were placed by o, perhaps in an earlier term. Called before another
// goroutine has p.
func (p *Placement) Adopt(o *Buckets) { p.owns = []*Buckets{o} }

// Each calls fn with the ownerships by which keys were placed since all were last checked. One may
// be nil: nothing had ever moved.
func (p *Placement) Each(fn func(o *Buckets)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.owns {
		fn(o)
	}
}

// Check returns the verdict of o on all keys that were placed. It calls look with the ownerships by
// which they were, unless it is known that o has and does not fence all of them.
func (p *Placement) Check(
	o *Buckets, look func(placed []*Buckets) (ownership.Verdict, error),
) (ownership.Verdict, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bare.Swap(false) {
		if p.intact = nil; !slices.Contains(p.owns, nil) {
			p.owns = append(p.owns, nil)
		}
	}
	if p.intact == o && len(p.owns) > 0 {
		return ownership.Here, nil
	}
	v, err := look(p.owns)
	if err == nil && v == ownership.Here { // o owns all that the earlier ones owned
		clear(p.owns)
		p.intact, p.owns = o, append(p.owns[:0], o)
	}
	return v, err
}

// Stored returns the stored form of a caller's key by the present ownership.
func (s *Set) Stored(g *keyspace.Globals, key []byte) []byte {
	o := s.Load()
	if o == nil {
		return key
	}
	b, ok := g.Bucket(key)
	if !ok {
		return key
	}
	return keyspace.Stored(key, o.Find(b).Generation)
}

// Generation returns the generation with which local index entries of a bucket are written now.
func (s *Set) WriteGeneration(bucket uint32) uint32 {
	o := s.Load()
	if o == nil {
		return 0
	}
	return o.Find(bucket).Generation
}
