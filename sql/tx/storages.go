package tx

import (
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Storages notes since when this node knows the storage of each table and index. A snapshot from
// before cannot be read through it: TRUNCATE and rewrites take a new storage, and a new index has
// entries from its making on. What is in force when the node starts counts from then, because it is
// not known how long it was before.
type Storages struct {
	mu   sync.RWMutex
	n    uint64               // guarded by mu
	seen map[storage]sighting // guarded by mu
	last *catalog.View        // guarded by mu: all of it has been seen
	at   time.Time            // of the last sighting; guarded by mu
}

// storage is a table's rows (index 0), or an index. Rows that lie by other rules for prefixes are
// another storage: the rules of today look for ids of yesterday where they never were.
type storage struct {
	id    uint32
	index catalog.OID
	rules uint64 // catalog.Table.PrefixEpoch
}

type sighting struct {
	n  uint64 // in what order
	at time.Time
}

// Observe notes what is new in the storage of a table.
func (x *Storages) Observe(t *catalog.Table) {
	if x.knows(t) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.seen == nil {
		x.seen = map[storage]sighting{}
	}
	now := time.Now()
	for _, s := range storagesOf(t) {
		if _, ok := x.seen[s]; !ok {
			x.n++
			x.seen[s], x.at = sighting{x.n, now}, now
		}
	}
}

// ObserveUses notes what is new in the storage of the tables that a statement uses.
func (x *Storages) ObserveUses(v *catalog.View, uses []TableUse) {
	for _, u := range uses {
		if t := v.Table(u.Table); t != nil {
			x.Observe(t)
		}
	}
}

// ObserveAll notes what is in force in v.
func (x *Storages) ObserveAll(v *catalog.View) {
	x.mu.RLock()
	same := x.last == v
	x.mu.RUnlock()
	if same {
		return
	}
	defer func() {
		x.mu.Lock()
		x.last = v
		x.mu.Unlock()
	}()
	for d := range v.Databases() {
		for t := range v.Tables(d.OID) {
			x.Observe(t)
		}
	}
}

func (x *Storages) knows(t *catalog.Table) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, s := range storagesOf(t) {
		if _, ok := x.seen[s]; !ok {
			return false
		}
	}
	return true
}

// newest returns the last sighting of a table's storages.
func (x *Storages) newest(t *catalog.Table) (last sighting) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, s := range storagesOf(t) {
		if e := x.seen[s]; e.n > last.n {
			last = e
		}
	}
	return last
}

// since returns a timestamp from which on everything seen can be read.
func (x *Storages) since() txn.Timestamp {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.at.IsZero() {
		return 0
	}
	return txn.FromTime(x.at.Add(time.Millisecond))
}

// count returns how much was seen so far.
func (x *Storages) count() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.n
}

// storagesOf returns where a table has rows and entries. A view has none.
func storagesOf(t *catalog.Table) []storage {
	if t.Kind == catalog.KindView {
		return nil
	}
	out := make([]storage, 0, 1+len(t.Indexes))
	out = append(out, storage{id: t.StorageID, rules: t.PrefixEpoch})
	for i := range t.Indexes {
		if x := &t.Indexes[i]; x.State == catalog.IndexPublic {
			out = append(out, storage{id: t.StorageID, index: x.OID})
		}
	}
	return out
}

// CheckStorages refuses to read tables whose storage is newer than the transaction's snapshot. The
// storage of tables that the transaction has changed itself is its own.
func (t *Tx) CheckStorages(uses []TableUse) error {
	if t.At == 0 {
		return nil
	}
	view := t.env.Catalog.View()
	for _, u := range uses {
		table := view.Table(u.Table)
		if table == nil || table.Kind == catalog.KindParts || table.ForwardingOf != 0 {
			continue // before these two kinds were there, there was nothing in them
		}
		t.env.Storages.Observe(table)
		last := t.env.Storages.newest(table)
		switch {
		case t.Past && t.At.Time().Before(last.at):
			return pgerr.New(pgerr.SnapshotTooOld, "snapshot too old").
				WithDetail(`The rows and indexes of "%s" are known since %s, the snapshot is of %s.`, table.Name,
					last.at.UTC().Format(time.RFC3339Nano), t.At.Time().Format(time.RFC3339Nano)).
				WithHint("TRUNCATE, a new index, a rewrite and a restart of the node " +
					"are what the past cannot be read across.")
		case !t.Past && !t.knew(table, last) && !t.HasChanged(table):
			return pgerr.New(pgerr.SerializationFailure,
				`could not serialize access: "%s" got a new storage or index after the transaction's snapshot`,
				table.Name).WithHint("Try the transaction again.")
		}
	}
	return nil
}

// knew reports whether a table, whose storages were last sighted at last, had them when the
// transaction's snapshot was taken.
func (t *Tx) knew(table *catalog.Table, last sighting) bool {
	if t.imported == nil {
		return last.n <= t.seen
	}
	return !slices.ContainsFunc(storagesOf(table), func(s storage) bool { return !t.imported[s] })
}

// sightedBefore returns the storages of a database that are in force in v and were among the first
// n that were sighted.
func (x *Storages) sightedBefore(v *catalog.View, database catalog.OID, n uint64) map[storage]bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := map[storage]bool{}
	for t := range v.Tables(database) {
		for _, s := range storagesOf(t) {
			if e, ok := x.seen[s]; ok && e.n <= n {
				out[s] = true
			}
		}
	}
	return out
}

// HasChanged reports whether the transaction has changed a table's definition.
func (t *Tx) HasChanged(table *catalog.Table) bool {
	if t.Schema == nil {
		return false
	}
	own := t.Schema.View.Table(table.OID)
	return own == nil || own.Version != table.Version || own.StorageID != table.StorageID
}
