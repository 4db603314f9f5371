package history

import (
	"fmt"
	"strings"
	"time"
)

type edgeKind byte

const (
	ww edgeKind = 1 << iota
	wr
	rw
)

func (k edgeKind) String() string {
	switch {
	case k&ww != 0:
		return "ww"
	case k&wr != 0:
		return "wr"
	}
	return "rw"
}

// graph has the dependencies between transactions, by their place in checker.txns.
type graph struct {
	next []map[int]edgeKind
}

func (g *graph) add(from, to int, k edgeKind) {
	if from != to {
		g.next[from][to] |= k
	}
}

// checkCycles builds the graph of dependencies and looks for cycles that the levels forbid.
func (c *checker) checkCycles() {
	g := c.dependencies()
	if cycle := g.cycle(ww); cycle != nil {
		c.report("G0", "%s", c.show(g, cycle))
	}
	if cycle := g.cycle(ww | wr); cycle != nil {
		c.report("G1c", "%s", c.show(g, cycle))
		return // cycles with rw edges would only show it again
	}
	// Only transactions at the two higher levels have one snapshot; what others have read may be
	// overtaken. But all their writes are in a snapshot or none, and come after what they have
	// read.
	snapshots := g.overtaken(func(i int) bool { return c.txns[i].Level == ReadCommitted })
	if cycle := snapshots.single(); cycle != nil {
		c.report("G-single", "%s", c.show(g, cycle))
	}
	// Serializable with respect to all writes.
	serial := g.overtaken(func(i int) bool { return c.txns[i].Level != Serializable })
	if cycle := serial.cycle(ww | wr | rw); cycle != nil {
		c.report("G2", "%s", c.show(g, cycle))
	}
}

func (c *checker) dependencies() *graph {
	at := map[*Transaction]int{}
	g := &graph{next: make([]map[int]edgeKind, len(c.txns))}
	for i, t := range c.txns {
		at[t], g.next[i] = i, map[int]edgeKind{}
	}
	writer := func(key string, i int) (int, bool) {
		n, ok := at[c.writers[write{key, c.final[key][i]}]]
		return n, ok
	}
	for key, list := range c.final {
		for i := 1; i < len(list); i++ {
			a, ok := writer(key, i-1)
			b, also := writer(key, i)
			if ok && also {
				g.add(a, b, ww)
			}
		}
	}
	for i, t := range c.txns {
		for _, op := range t.Ops {
			if op.Append {
				continue
			}
			n := len(c.foreign(t, op))
			if n > 0 && n <= len(c.final[op.Key]) {
				if w, ok := writer(op.Key, n-1); ok {
					g.add(w, i, wr)
				}
			}
			if n < len(c.final[op.Key]) {
				if w, ok := writer(op.Key, n); ok {
					g.add(i, w, rw)
				}
			}
		}
	}
	return g
}

// overtaken returns the graph without the rw edges that leave some transactions.
func (g *graph) overtaken(some func(i int) bool) *graph {
	out := &graph{next: make([]map[int]edgeKind, len(g.next))}
	for i, edges := range g.next {
		out.next[i] = map[int]edgeKind{}
		for j, k := range edges {
			if some(i) {
				k &^= rw
			}
			if k != 0 {
				out.next[i][j] = k
			}
		}
	}
	return out
}

// filter returns the graph with some of its edges.
func (g *graph) filter(keep func(i, j int) bool) *graph {
	out := &graph{next: make([]map[int]edgeKind, len(g.next))}
	for i, edges := range g.next {
		out.next[i] = map[int]edgeKind{}
		for j, k := range edges {
			if keep(i, j) {
				out.next[i][j] = k
			}
		}
	}
	return out
}

// components returns the number of the strongly connected component of each node (Tarjan 1972).
func (g *graph) components() []int {
	of, low, at := make([]int, len(g.next)), make([]int, len(g.next)), make([]int, len(g.next))
	var stack []int
	next, n := 1, 0
	var visit func(i int)
	visit = func(i int) {
		at[i], low[i], of[i] = next, next, -1
		next++
		stack = append(stack, i)
		for j := range g.next[i] {
			if at[j] == 0 {
				visit(j)
				low[i] = min(low[i], low[j])
			} else if of[j] < 0 {
				low[i] = min(low[i], at[j])
			}
		}
		if low[i] != at[i] {
			return
		}
		for {
			j := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			of[j] = n
			if j == i {
				break
			}
		}
		n++
	}
	for i := range g.next {
		if at[i] == 0 {
			visit(i)
		}
	}
	return of
}

// cycle returns a cycle over edges of the kinds, nil if there is none.
func (g *graph) cycle(kinds edgeKind) []int {
	const (
		fresh = iota
		open
		done
	)
	state := make([]byte, len(g.next))
	var path []int
	var found []int
	var visit func(i int) bool
	visit = func(i int) bool {
		state[i] = open
		path = append(path, i)
		for j, k := range g.next[i] {
			if k&kinds == 0 {
				continue
			}
			switch state[j] {
			case open:
				for n, p := range path {
					if p == j {
						found = append([]int{}, path[n:]...)
						return true
					}
				}
			case fresh:
				if visit(j) {
					return true
				}
			}
		}
		path = path[:len(path)-1]
		state[i] = done
		return false
	}
	for i := range g.next {
		if state[i] == fresh && visit(i) {
			return g.shorten(found, kinds)
		}
	}
	return nil
}

// shorten returns a shortest cycle through the first node of a cycle.
func (g *graph) shorten(cycle []int, kinds edgeKind) []int {
	for next, k := range g.next[cycle[0]] {
		if k&kinds == 0 {
			continue
		}
		if p := g.path(next, cycle[0], kinds); p != nil && len(p) < len(cycle) {
			cycle = append([]int{cycle[0]}, p[:len(p)-1]...)
		}
	}
	return cycle
}

// single returns a cycle with exactly one rw edge. A cycle stays within a strongly connected
// component, and components are small if little is wrong.
func (g *graph) single() []int {
	of := g.components()
	g = g.filter(func(i, j int) bool { return of[i] == of[j] })
	for a, edges := range g.next {
		for b, k := range edges {
			if k&rw == 0 {
				continue
			}
			if p := g.path(b, a, ww|wr); p != nil {
				return p
			}
		}
	}
	return nil
}

// path returns a shortest path from a to b over edges of the kinds, both ends included.
func (g *graph) path(a, b int, kinds edgeKind) []int {
	from := map[int]int{a: a}
	queue := []int{a}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		if i == b {
			var p []int
			for ; i != a; i = from[i] {
				p = append([]int{i}, p...)
			}
			return append([]int{a}, p...)
		}
		for j, k := range g.next[i] {
			if _, seen := from[j]; !seen && k&kinds != 0 {
				from[j] = i
				queue = append(queue, j)
			}
		}
	}
	return nil
}

// show prints a cycle.
func (c *checker) show(g *graph, cycle []int) string {
	var b strings.Builder
	for n, i := range cycle {
		j := cycle[(n+1)%len(cycle)]
		fmt.Fprintf(&b, "%d -%v-> ", c.txns[i].ID, g.next[i][j])
	}
	fmt.Fprintf(&b, "%d", c.txns[cycle[0]].ID)
	for _, i := range cycle {
		t := c.txns[i]
		fmt.Fprintf(&b, "\n  %d %v, from %v to %v:", t.ID, t.Level, t.Start.Round(time.Millisecond),
			t.End.Round(time.Millisecond))
		last := time.Duration(-1)
		for _, op := range t.Ops {
			if op.Start != last {
				fmt.Fprintf(&b, " (%v)", op.Start.Round(time.Millisecond))
				last = op.Start
			}
			if op.Append {
				fmt.Fprintf(&b, " %s+=%d", op.Key, op.Value)
			} else {
				fmt.Fprintf(&b, " %s=%v", op.Key, op.List)
			}
		}
	}
	return b.String()
}
