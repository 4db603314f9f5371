package taskserver

import (
	"container/list"
	"errors"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/failure"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan/wire"
)

// plans holds the plans that a gateway's process has sent. It drops the least recently used first.
type plans struct {
	limit int

	mu          sync.Mutex
	incarnation uint64                   // of the gateway's process; guarded by mu
	by          map[uint64]*list.Element // of kept, by number; guarded by mu
	order       list.List                // the most recently used first; guarded by mu
}

// kept is a plan.
type kept struct {
	number  uint64
	bytes   []byte
	program *exec.Program
	version uint64 // of the definitions that it was decoded with
}

// program returns a compiled plan. If bytes is empty, number names the plan; number 0 means that
// the plan is not kept.
func (p *plans) program(v *catalog.View, incarnation, number uint64, bytes []byte) (*exec.Program, error) {
	if len(bytes) == 0 {
		k := p.get(incarnation, number)
		switch {
		case k == nil:
			return nil, failure.ErrUnknownPlan
		case k.version == v.DefinitionVersion():
			return k.program, nil
		}
		bytes = k.bytes
	}
	n, err := wire.Decode(v, bytes)
	if err != nil {
		if other := (*wire.VersionError)(nil); errors.As(err, &other) {
			err = &failure.Replan{Version: v.Version(), Why: err.Error()}
		}
		return nil, err
	}
	program, err := exec.CompileTask(n)
	if err == nil && number != 0 {
		p.put(incarnation, &kept{number, bytes, program, v.DefinitionVersion()})
	}
	return program, err
}

func (p *plans) get(incarnation, number uint64) *kept {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.by[number]
	if e == nil || p.incarnation != incarnation {
		return nil
	}
	p.order.MoveToFront(e)
	return e.Value.(*kept)
}

func (p *plans) put(incarnation uint64, k *kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.incarnation != incarnation || p.by == nil {
		p.incarnation, p.by = incarnation, map[uint64]*list.Element{}
		p.order.Init()
	}
	if e := p.by[k.number]; e != nil {
		e.Value = k
		p.order.MoveToFront(e)
		return
	}
	p.by[k.number] = p.order.PushFront(k)
	if p.order.Len() > p.limit {
		last := p.order.Back()
		p.order.Remove(last)
		delete(p.by, last.Value.(*kept).number)
	}
}
