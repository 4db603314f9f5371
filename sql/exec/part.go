package exec

import (
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/route"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/txn"
)

// Part restricts what a statement reads of every table if its session reads some fragments only
// (sherd.fragment): the buckets that these fragments owned by one map. It does not change while the
// statement runs, so buckets that move meanwhile are neither lost nor read twice.
type Part struct {
	Buckets shardmap.BucketSet
	Map     *shardmap.Map // by which the fragments owned them
}

// Reads reports whether the program reads client tables, other than rows that it is given.
func (p *Program) Reads() bool { return p.reads }

// whole reports whether a Gather reads only the server's own tables (parts of split documents and
// forwarding entries), or temporary ones. The statement needs all of their rows, in every fragment.
func whole(n plan.Node) bool {
	if s, ok := n.(*plan.Scan); ok {
		return kept(s.Table)
	}
	children := n.Children()
	for _, c := range children {
		if !whole(c) {
			return false
		}
	}
	return len(children) > 0
}

func kept(t *catalog.Table) bool { return t.HotOf != 0 || t.ForwardingOf != 0 || t.IsTemporary() }

// Whole reports whether a Gather reads everything, whatever the statement's Part and Partial.
func Whole(n *plan.Gather) bool { return whole(n.Child) }

// within returns the buckets of a Gather that are in the statement's part.
func (o *gatherOp) within(c *Ctx, set shardmap.BucketSet) (shardmap.BucketSet, error) {
	if c.Part == nil || o.whole {
		return set, nil
	}
	return c.Part.within(o.router.Table(), c.Gateway.Map, set)
}

// RouteBuckets evaluates a route for EXPLAIN; known is false if it depends on values that only the
// running plan has.
func RouteBuckets(c *Ctx, r *plan.Route) (set shardmap.BucketSet, known bool, err error) {
	c.link()
	o, err := route.New(&newCompiler().Compiler.Compiler, r)
	if err != nil {
		return set, false, err
	}
	if set = o.Table().Buckets(); !o.Lateral() {
		if set, err = o.Buckets(&c.Ctx); err != nil {
			return set, false, err
		}
	}
	if c.Part != nil && (r.Table == nil || !kept(r.Table)) {
		set, err = c.Part.within(o.Table(), c.Gateway.Map, set)
	}
	return set, err == nil && !o.Lateral() && r.Index == nil, err
}

// within returns the buckets of a table that are in the part. It returns 55000 if the table's
// assigned buckets (segments, rules for prefixes) differ from those of the part's map, because the
// map cannot tell which fragment owned their rows.
func (p *Part) within(t *table.Table, now *shardmap.Map, set shardmap.BucketSet) (shardmap.BucketSet, error) {
	if t != nil && !t.Buckets().Equal(shardmap.AllBuckets()) && p.Map.Epoch() != now.Epoch() &&
		!p.Map.Assigned().Equal(now.Assigned()) {
		return set, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`the part of table "%s" in the fragments of sherd.fragment is not known any more`, t.Def.Name).
			WithDetail("Segments were split or merged, or rules for prefixes changed, after the snapshot was taken.").
			WithHint("Begin a new transaction, or import a new snapshot.")
	}
	return set.Intersect(p.Buckets), nil
}

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
