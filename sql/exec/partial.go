package exec

import (
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// Partial lets a read-only statement return a result without the fragments that cannot be reached
// (sherd.allow_partial). In a step of the plan, a fragment is missing either completely or not at
// all: if it is lost after it has sent rows, that is an error.
type Partial struct {
	// Snapshot is Gateway.Snapshot for the fragments that can be reached. missing holds the reasons
	// for the others.
	Snapshot func(ctx context.Context, shares []shardmap.Share) (
		T txn.Timestamp, missing map[shardmap.FragmentID]error, err error,
	)
	// Warn tells the client which fragments are missing in the result, each once for a statement.
	Warn func(missing []Missing)

	warned map[shardmap.FragmentID]bool
}

// Missing is a fragment whose rows are missing in a result.
type Missing struct {
	Fragment shardmap.FragmentID
	Err      error
}

// lacks notes that the answer does without fragments.
func (p *Partial) lacks(list []Missing) {
	list = slices.DeleteFunc(list, func(m Missing) bool { return p.warned[m.Fragment] })
	if len(list) == 0 {
		return
	}
	if p.warned == nil {
		p.warned = map[shardmap.FragmentID]bool{}
	}
	for _, m := range list {
		p.warned[m.Fragment] = true
	}
	slices.SortFunc(list, func(a, b Missing) int { return int(a.Fragment) - int(b.Fragment) })
	p.Warn(list)
}

// reached returns the shares of a Gather whose fragments the statement's timestamp was taken from.
func (o *gatherOp) reached(c *Ctx, shares []shardmap.Share) ([]shardmap.Share, error) {
	if len(c.reads.missing) == 0 {
		return shares, nil
	}
	var there []shardmap.Share
	var list []Missing
	for _, s := range shares {
		switch err := c.reads.missing[s.Fragment]; {
		case err == nil:
			there = append(there, s)
		case o.whole:
			return nil, err
		default:
			list = append(list, Missing{s.Fragment, err})
		}
	}
	c.Partial.lacks(list)
	return there, nil
}

// lost reports whether an error means that a fragment cannot be reached, and the result may omit it
// because it has sent no rows.
func (c *Ctx) lost(err error, sent int64) bool {
	var away *txn.UnreachableError
	return c.Partial != nil && sent == 0 && errors.As(err, &away)
}
