package sql

import (
	"sync"
	"sync/atomic"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// samples are statements that ran at this node, some of them, for sherd.policy_advice(). They cost next to nothing: one statement in sampleEvery is
// kept, after the first, and one that finds the list in use is not.
type samples struct {
	count atomic.Uint64

	mu   sync.Mutex
	list []sample // guarded by mu
	next int      // to be overwritten; guarded by mu
}

// sample is a statement with the values of its parameters.
type sample struct {
	database catalog.OID
	program  *stmt.Program
	args     []types.Datum
}

const (
	keptSamples = 1024
	sampleEvery = 16
	sampleText  = 4 << 10 // of a statement, and of a parameter; longer ones are not kept
)

// note looks at a statement that is about to run.
func (x *samples) note(database catalog.OID, p *stmt.Program, args []types.Datum) {
	if n := x.count.Add(1); n > keptSamples && n%sampleEvery != 0 {
		return
	}
	if len(p.Tables) == 0 || p.Query == nil || p.Query.Command == query.Insert || len(p.Statement.Text()) > sampleText || !x.mu.TryLock() {
		return
	}
	defer x.mu.Unlock()
	kept := make([]types.Datum, len(args))
	for i, a := range args {
		if len(a.S) > sampleText {
			return
		}
		kept[i] = a.Clone()
	}
	s := sample{database, p, kept}
	if len(x.list) < keptSamples {
		x.list = append(x.list, s)
		return
	}
	x.list[x.next] = s
	x.next = (x.next + 1) % keptSamples
}

// of gives the samples that name a table.
func (x *samples) of(database, table catalog.OID) (out []sample) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.list {
		if s.database != database {
			continue
		}
		for _, u := range s.program.Tables {
			if u.Table == table {
				out = append(out, s)
				break
			}
		}
	}
	return out
}
