package stmt

import (
	"sync"
	"sync/atomic"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Samples are some of the statements that ran at a node, for sherd.policy_advice(). One statement in
// sampleEvery is kept, after the first ones, unless the list is in use: they cost next to nothing.
type Samples struct {
	count atomic.Uint64

	mu   sync.Mutex
	list []Sample // guarded by mu
	next int      // to be overwritten; guarded by mu
}

// Sample is a statement with the values of its parameters.
type Sample struct {
	Database catalog.OID
	Program  *Program
	Args     []types.Datum
}

const (
	keptSamples = 1024
	sampleEvery = 16
	sampleText  = 4 << 10 // bytes of a statement, and of a parameter; longer ones are not kept
)

// Add keeps a statement that is about to run, or not.
func (x *Samples) Add(database catalog.OID, p *Program, args []types.Datum) {
	if n := x.count.Add(1); n > keptSamples && n%sampleEvery != 0 {
		return
	}
	if len(p.Tables) == 0 || p.Query == nil || p.Query.Command == query.Insert ||
		len(p.Statement.Text()) > sampleText || !x.mu.TryLock() {
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
	s := Sample{database, p, kept}
	if len(x.list) < keptSamples {
		x.list = append(x.list, s)
		return
	}
	x.list[x.next] = s
	x.next = (x.next + 1) % keptSamples
}

// Of returns the samples that use a table.
func (x *Samples) Of(database, table catalog.OID) (out []Sample) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.list {
		if s.Database != database {
			continue
		}
		for _, u := range s.Program.Tables {
			if u.Table == table {
				out = append(out, s)
				break
			}
		}
	}
	return out
}
