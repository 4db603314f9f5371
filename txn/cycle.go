package txn

import (
	"bytes"
	"cmp"
	"slices"
)

// Deadlocks over several nodes are found as follows. Each node's detector knows the waits of its
// own lock tables, so it finds the cycles among them at once. A cycle over several nodes appears on
// each node as a wait that lasts. The node then asks all nodes for the waits of its blockers, for
// the waits of their blockers, and so on (FindCycles). Each node answers with all waits that it
// can follow from there. No state is kept between two searches.
//
// Answers arrive one after another, so the waits of an apparent cycle may never have existed
// together. It is asked for again as a whole: each of its waits that is still there then was there
// when the last one was found, and no owner in a cycle of waits that exist at the same time can
// continue.
//
// All nodes of a cycle find it. They end the wait of the same transaction, the one with the largest
// id.

// Edge is a wait in the graph of all nodes.
type Edge struct {
	Node uint32
	Waiting
}

// Cycle is a cycle of waits: each waits for the next one's waiter, and the last for the first
// one's. The first is the one to end.
type Cycle []Edge

// maxOwners bounds the owners whose waits a search asks for. Those left out are found when others
// have continued.
const maxOwners = 10_000

// FindCycles finds the cycles that the given waits are part of, or wait for. ask returns the waits
// of lock owners, from all nodes that answer.
func FindCycles(own []Edge, ask func([]LockOwner) []Edge) []Cycle {
	g := &waitGraph{byID: map[ID][]*Edge{}, bySession: map[uint32][]*Edge{}, seen: map[edgeName]bool{}}
	asked := map[LockOwner]bool{}
	for found := g.add(own); len(found) > 0; {
		var wanted []LockOwner
		for _, e := range found {
			for _, p := range e.Blockers {
				if !p.ID.IsZero() {
					p.Session = 0 // the id identifies the owner
				}
				if !asked[p] && len(asked) < maxOwners {
					asked[p] = true
					wanted = append(wanted, p)
				}
			}
		}
		if len(wanted) == 0 {
			break
		}
		found = g.add(ask(wanted))
	}
	var out []Cycle
	for c := g.cycle(own); c != nil; c = g.cycle(own) {
		c = c.fromVictim()
		g.drop(c[0])
		if c.confirmed(ask) {
			out = append(out, c)
		}
	}
	return out
}

// edgeName identifies a wait among those of all nodes.
type edgeName struct {
	node   uint32
	number uint64
}

func (e *Edge) name() edgeName { return edgeName{e.Node, e.Number} }

// waitGraph holds the waits that a search has found.
type waitGraph struct {
	byID      map[ID][]*Edge
	bySession map[uint32][]*Edge
	seen      map[edgeName]bool // false: the wait is dropped
}

// add adds edges and returns those that are new.
func (g *waitGraph) add(edges []Edge) []*Edge {
	var out []*Edge
	for i := range edges {
		e := &edges[i]
		if _, known := g.seen[e.name()]; known {
			continue
		}
		g.seen[e.name()] = true
		if !e.Waiter.ID.IsZero() {
			g.byID[e.Waiter.ID] = append(g.byID[e.Waiter.ID], e)
		}
		if e.Waiter.Session != 0 {
			g.bySession[e.Waiter.Session] = append(g.bySession[e.Waiter.Session], e)
		}
		out = append(out, e)
	}
	return out
}

func (g *waitGraph) drop(e Edge) { g.seen[e.name()] = false }

// cycle returns a cycle that can be reached from the edges, or nil if there is none.
func (g *waitGraph) cycle(from []Edge) Cycle {
	const under, done = 1, 2
	been := map[edgeName]int{}
	var way, found Cycle
	var visit func(at *Edge) bool
	visit = func(at *Edge) bool {
		switch {
		case !g.seen[at.name()] || been[at.name()] == done:
			return false
		case been[at.name()] == under:
			i := slices.IndexFunc(way, func(e Edge) bool { return e.name() == at.name() })
			found = slices.Clone(way[i:])
			return true
		}
		been[at.name()] = under
		way = append(way, *at)
		for _, b := range at.Blockers {
			next := g.byID[b.ID]
			if b.ID.IsZero() {
				next = g.bySession[b.Session]
			}
			if slices.ContainsFunc(next, visit) {
				return true
			}
		}
		been[at.name()] = done
		way = way[:len(way)-1]
		return false
	}
	for i := range from {
		if visit(&from[i]) {
			return found
		}
	}
	return nil
}

// fromVictim rotates a cycle so that it begins with the wait of the largest id.
func (c Cycle) fromVictim() Cycle {
	at := 0
	for i := range c {
		if compareOwners(c[i].Waiter, c[at].Waiter) > 0 {
			at = i
		}
	}
	return slices.Concat(c[at:], c[:at])
}

func compareOwners(a, b LockOwner) int {
	return cmp.Or(bytes.Compare(a.ID[:], b.ID[:]), cmp.Compare(a.Session, b.Session))
}

// confirmed asks again for the waits of a cycle, and reports whether all are still there.
func (c Cycle) confirmed(ask func([]LockOwner) []Edge) bool {
	var owners []LockOwner
	for i := range c {
		owners = append(owners, c[i].Waiter)
	}
	now := map[edgeName]Edge{}
	for _, e := range ask(owners) {
		now[e.name()] = e
	}
	for i := range c {
		e, there := now[c[i].name()]
		next := c[(i+1)%len(c)].Waiter
		if !there || e.Waiter != c[i].Waiter || !slices.ContainsFunc(e.Blockers, func(p LockOwner) bool {
			return p.is(next)
		}) {
			return false
		}
	}
	return true
}

// Err returns the error of the first wait.
func (c Cycle) Err() error {
	steps := make([]blocked, len(c))
	for i := range c {
		e := &c[i]
		steps[i] = blocked{
			&Wait{Waiter: e.Waiter, Lock: e.Lock, Object: e.Object, Key: e.Key, Fragment: e.Fragment},
			c[(i+1)%len(c)].Waiter,
		}
	}
	return deadlock(steps)
}
