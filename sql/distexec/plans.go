package distexec

import (
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/wire"
)

// encoded is a plan as it is sent.
type encoded struct {
	number  uint64
	bytes   []byte
	changes bool // it writes or locks

	settings []string // that its functions ask the session for
}

const keptPlans = 2048 // in each of two generations

// plans are those that were encoded last.
type plans struct {
	mu         sync.Mutex
	number     uint64                 // guarded by mu
	young, old map[plan.Node]*encoded // guarded by mu
}

func (p *plans) get(n plan.Node, inForce *catalog.View) (*encoded, error) {
	p.mu.Lock()
	e := p.young[n]
	if e == nil {
		if e = p.old[n]; e != nil {
			p.keep(n, e)
		}
	}
	p.mu.Unlock()
	if e != nil {
		return e, nil
	}
	b, err := wire.EncodeDrafted(n, inForce)
	if err != nil {
		return nil, err
	}
	e = &encoded{bytes: b, changes: exec.Changes(n), settings: wire.Settings(n)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	e.number = p.number
	p.keep(n, e)
	return e, nil
}

// keep is called with mu held.
func (p *plans) keep(n plan.Node, e *encoded) {
	if p.young == nil || len(p.young) >= keptPlans {
		p.old, p.young = p.young, map[plan.Node]*encoded{}
	}
	p.young[n] = e
}
