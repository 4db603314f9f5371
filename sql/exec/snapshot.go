package exec

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// snapshot is the timestamp of one statement, taken once before its first read (E3).
type snapshot struct {
	gathers []*gatherOp
	t       txn.Timestamp
	taken   bool
	missing map[shardmap.FragmentID]error // fragments that have not taken part, see Partial
	shares  [1]shardmap.Share
	took    func(txn.Timestamp) // of the gateway, if a fragment chooses the timestamp
}

// left reports whether the fragment of a Gather's only share may choose the timestamp: only if the
// statement reads nothing else.
func (s *snapshot) left(c *Ctx, o *gatherOp) (floor txn.Timestamp, ok bool) {
	if s.taken || c.Partial != nil || c.Gateway.Leave == nil || len(s.gathers) != 1 || s.gathers[0] != o ||
		o.router.Lateral() || o.index != nil {
		return 0, false
	}
	if floor, ok = c.Gateway.Leave(); ok {
		s.took = c.Gateway.Took
	}
	return floor, ok
}

// start sets the timestamp that a fragment has chosen.
func (s *snapshot) start(T txn.Timestamp) {
	s.t, s.taken = T, true
	s.took(T)
}

// reach returns the buckets that a Gather may read, whatever values its route depends on.
func (o *gatherOp) reach(c *Ctx) (shardmap.BucketSet, error) {
	switch {
	case o.index != nil: // its entries are in fragments of their own
		return o.router.Table().Buckets(), nil
	case o.router.Lateral():
		return o.within(c, o.router.Table().Buckets())
	}
	return o.buckets(c)
}

// of returns the timestamp at which the statement reads a table. Temporary tables have none.
func (s *snapshot) of(c *Ctx, t *catalog.Table) (txn.Timestamp, error) {
	if t.IsTemporary() {
		return 0, nil
	}
	return s.at(c)
}

// at returns the statement's timestamp. Routes that depend on outer values may reach every
// fragment.
func (s *snapshot) at(c *Ctx) (txn.Timestamp, error) {
	if s.taken {
		return s.t, nil
	}
	var set shardmap.BucketSet
	for i, g := range s.gathers {
		b, err := g.reach(c)
		if err != nil {
			return 0, err
		}
		if i == 0 {
			set = b
			continue
		}
		set = set.Union(b)
	}
	if len(s.gathers) == 0 {
		set = c.Gateway.Map.All()
	}
	shares := split(s.shares[:0], c.Gateway.Map, set)
	var t txn.Timestamp
	var err error
	if c.Partial != nil {
		t, s.missing, err = c.Partial.Snapshot(c.ctx(), shares)
	} else {
		t, err = c.Gateway.Snapshot(c.ctx(), shares)
	}
	s.t, s.taken = t, err == nil
	return t, err
}
