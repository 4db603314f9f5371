package monitor

import (
	"container/list"
	"strings"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/sysview"
)

// Forwardings counts by which former ids statements of this node have found documents, since its start:
// of each application the ids used last, so that memory is bounded. The zero value has counted none.
type Forwardings struct {
	mu   sync.Mutex
	byID map[forwardedBy]*list.Element // guarded by mu
	used list.List                     // of *sysview.Forwarded, the last one first; guarded by mu
}

type forwardedBy struct {
	table            catalog.OID
	old, application string
}

const (
	maxForwardings = 1000
	maxForwardText = 512 // bytes of a statement that are kept
)

// Add counts one.
func (f *Forwardings) Add(x sysview.Forwarded) {
	x.Query = strings.ToValidUTF8(x.Query[:min(len(x.Query), maxForwardText)], "")
	k := forwardedBy{x.Table, x.Old, x.Application}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.byID[k]; e != nil {
		had := e.Value.(*sysview.Forwarded)
		x.Hits = had.Hits + 1
		*had = x
		f.used.MoveToFront(e)
		return
	}
	if f.byID == nil {
		f.byID = map[forwardedBy]*list.Element{}
	}
	if f.used.Len() >= maxForwardings {
		last := f.used.Remove(f.used.Back()).(*sysview.Forwarded)
		delete(f.byID, forwardedBy{last.Table, last.Old, last.Application})
	}
	x.Hits = 1
	f.byID[k] = f.used.PushFront(&x)
}

func (f *Forwardings) rows() []sysview.Forwarded {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []sysview.Forwarded
	for e := f.used.Front(); e != nil; e = e.Next() {
		out = append(out, *e.Value.(*sysview.Forwarded))
	}
	return out
}
