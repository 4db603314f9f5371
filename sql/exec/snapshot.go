package exec

import (
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// snapshot is the timestamp of one statement, taken once before its first read (E3).
type snapshot struct {
	gathers []*gatherOp
	t       txn.Timestamp
	taken   bool
	shares  [1]shardmap.Share
	took    func(txn.Timestamp) // of the gateway, where the timestamp is left to a fragment
}

// left tells whether the fragment of a Gather's only share takes the timestamp: where nothing else is read.
func (s *snapshot) left(c *Ctx, o *gatherOp) (floor txn.Timestamp, ok bool) {
	if s.taken || c.Gateway.Leave == nil || len(s.gathers) != 1 || s.gathers[0] != o || o.router.lateral || o.router.index != nil {
		return 0, false
	}
	if floor, ok = c.Gateway.Leave(); ok {
		s.took = c.Gateway.Took
	}
	return floor, ok
}

// start takes the timestamp that a fragment has chosen.
func (s *snapshot) start(T txn.Timestamp) {
	s.t, s.taken = T, true
	s.took(T)
}

// at gives the statement's timestamp. Routes that hang on outer values may reach every fragment.
func (s *snapshot) at(c *Ctx) (txn.Timestamp, error) {
	if s.taken {
		return s.t, nil
	}
	var set shardmap.BucketSet
	for i, g := range s.gathers {
		b := g.router.table.all()
		if !g.router.lateral && g.router.index == nil {
			var err error
			if b, err = g.buckets(c); err != nil {
				return 0, err
			}
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
	t, err := c.Gateway.Snapshot(c.ctx(), split(s.shares[:0], c.Gateway.Map, set))
	s.t, s.taken = t, err == nil
	return t, err
}
