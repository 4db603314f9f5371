package cluster

import (
	"sync"
	"time"

	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// defined remembers the commits of this process that changed definitions, for as long as fragments remember theirs.
type defined struct {
	mu sync.Mutex
	at map[txn.ID]txn.Timestamp // guarded by mu
}

func (d *defined) add(id txn.ID, C txn.Timestamp) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at == nil {
		d.at = map[txn.ID]txn.Timestamp{}
	}
	kept := storage.KeptSince(time.Now())
	for id := range d.at {
		if id.Began().Before(kept) {
			delete(d.at, id)
		}
	}
	d.at[id] = C
}

func (d *defined) find(id txn.ID) (C txn.Timestamp, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	C, ok = d.at[id]
	return C, ok
}
