package tx

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// exports are the snapshots that open transactions of this node have exported.
type exports struct {
	mu   sync.Mutex
	next uint64
	byID map[string]exported // guarded by mu
}

// exported is what a transaction reads that has exported its snapshot.
type exported struct {
	t        txn.Timestamp
	database catalog.OID
	modes    Modes
	past     bool             // as of the transaction, as are the two below
	seen     uint64           //
	imported map[storage]bool //
	partsBy  *shardmap.Map    // by which sherd.fragment means fragments
}

// ExportedSnapshot is an exported snapshot, as a transaction at any node imports it.
type ExportedSnapshot struct {
	T            txn.Timestamp
	Database     catalog.OID
	Serializable bool // the exporting transaction, as the two below
	ReadOnly     bool
	Past         bool
	Catalog      uint64 // the version of the catalog at the exporting node
	// PartsBy is the map by which sherd.fragment means fragments; nil: a node of an older release does not say.
	PartsBy *shardmap.Map
	// Storages is what the database's tables and indexes that are in force there had when the snapshot was taken.
	Storages []SnapshotStorage
}

// SnapshotStorage is the storage of a table (Index 0) or an index.
type SnapshotStorage struct {
	ID    uint32
	Index catalog.OID
	Rules uint64
}

// snapshotID names the node, so that any other can ask it for the snapshot.
func snapshotID(T txn.Timestamp, node uint32, n uint64) string {
	return fmt.Sprintf("%08X-%08X-%d-%d", uint64(T)>>32, uint32(T), node, n)
}

// exportingNode returns the node in a snapshot's name; ok is false if a node of this release does
// not make such names.
func exportingNode(id string) (node uint32, ok bool) {
	parts := strings.Split(id, "-")
	if len(parts) != 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(parts[2], 10, 32)
	return uint32(n), err == nil
}

// add makes a snapshot importable, and returns its name.
func (x *exports) add(node uint32, e exported) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byID == nil {
		x.byID = map[string]exported{}
	}
	x.next++
	id := snapshotID(e.t, node, x.next)
	x.byID[id] = e
	return id
}

func (x *exports) get(id string) (exported, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.byID[id]
	return e, ok
}

func (x *exports) remove(ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		delete(x.byID, id)
	}
}

// Export makes what the transaction reads importable as long as it is open, and returns the
// snapshot's name.
func (t *Tx) Export(ctx context.Context) (string, error) {
	if len(t.savepoints) > 0 {
		return "", activeTransaction("cannot export a snapshot from a subtransaction")
	}
	t.env.Storages.ObserveAll(t.env.Catalog.View())
	seen := t.env.Storages.count() // before the timestamp of READ COMMITTED is taken
	T, err := t.SnapshotForLater(ctx)
	if err != nil {
		return "", err
	}
	if err := t.Pin(T, t.Parts.PinSnapshot); err != nil {
		return "", err
	}
	e := exported{t: T, database: t.env.Database, modes: t.Modes, past: t.Past, seen: seen, partsBy: t.PartMap()}
	e.modes.ReadOnly = t.IsReadOnly()
	if t.At != 0 {
		e.seen, e.imported = t.seen, t.imported
	}
	id := t.env.exports.add(t.env.Self, e)
	t.exported = append(t.exported, id)
	return id, nil
}

// HasExported reports whether others may import a snapshot of the transaction.
func (t *Tx) HasExported() bool { return len(t.exported) > 0 }

// ExportedSnapshot returns a snapshot that an open transaction of this node has exported.
func (x *Services) ExportedSnapshot(id string) (s ExportedSnapshot, ok bool) {
	e, ok := x.exports.get(id)
	if !ok {
		return s, false
	}
	view := x.Catalog.View()
	known := e.imported
	if known == nil {
		known = x.Storages.sightedBefore(view, e.database, e.seen)
	}
	s = ExportedSnapshot{
		T: e.t, Database: e.database, Serializable: e.modes.Isolation() == txn.Serializable,
		ReadOnly: e.modes.ReadOnly, Past: e.past, Catalog: view.Version(), PartsBy: e.partsBy,
	}
	for _, k := range slices.SortedFunc(maps.Keys(known), storage.compare) {
		s.Storages = append(s.Storages, SnapshotStorage{k.id, k.index, k.rules})
	}
	return s, true
}

func (s storage) compare(o storage) int {
	return cmp.Or(cmp.Compare(s.id, o.id), cmp.Compare(s.index, o.index), cmp.Compare(s.rules, o.rules))
}

// findSnapshot asks the exporting node for a snapshot. 22023 if no open transaction has exported
// it.
func (x *Services) findSnapshot(ctx context.Context, id string) (s ExportedSnapshot, err error) {
	node, named := exportingNode(id)
	ok := false
	switch {
	case !named:
	case node == x.Self:
		s, ok = x.ExportedSnapshot(id)
	case x.AskSnapshot != nil:
		s, ok, err = x.AskSnapshot(ctx, node, id)
	}
	if err != nil || ok {
		return s, err
	}
	e := pgerr.New(pgerr.InvalidParameterValue, `invalid snapshot identifier: "%s"`, id)
	if !named && olderSnapshotID.MatchString(id) && x.AskSnapshot != nil {
		e = e.WithHint("If a node of an older release exported it, import it at that node, or upgrade all nodes.")
	}
	return s, e
}

// olderSnapshotID is the form of a name that does not say which node exported the snapshot.
var olderSnapshotID = regexp.MustCompile(`^[0-9A-F]{8}-[0-9A-F]{8}-[0-9]+$`)

// ImportSnapshot makes the transaction read what the one reads that has exported a snapshot. 22023
// if no open transaction has.
func (t *Tx) ImportSnapshot(ctx context.Context, id string) error {
	x, err := t.env.findSnapshot(ctx, id)
	if err == nil {
		err = t.mayImport(x)
	}
	if err == nil {
		err = t.awaitCatalog(ctx, x.Catalog)
	}
	if err == nil {
		err = t.readAt(x.T, t.Parts.PinSnapshot)
	}
	if err != nil {
		return err
	}
	if x.PartsBy != nil {
		t.partsBy = x.PartsBy
	}
	t.Past, t.imported = x.Past, make(map[storage]bool, len(x.Storages))
	for _, s := range x.Storages {
		t.imported[storage{s.ID, s.Index, s.Rules}] = true
	}
	return nil
}

// mayImport returns PostgreSQL's reasons against an import.
func (t *Tx) mayImport(x ExportedSnapshot) error {
	switch serializable := t.Modes.Isolation() == txn.Serializable; {
	case serializable && !x.Serializable:
		return pgerr.New(pgerr.FeatureNotSupported,
			"a serializable transaction cannot import a snapshot from a non-serializable transaction")
	case serializable && x.ReadOnly && !t.Modes.ReadOnly:
		return pgerr.New(pgerr.FeatureNotSupported,
			"a non-read-only serializable transaction cannot import a snapshot from a read-only transaction")
	case x.Database != t.env.Database:
		return pgerr.New(pgerr.FeatureNotSupported, "cannot import a snapshot from a different database")
	case serializable && t.Modes.ReadOnly && t.Modes.Deferrable:
		return pgerr.New(pgerr.FeatureNotSupported, "a snapshot-importing transaction must not be READ ONLY DEFERRABLE")
	}
	return nil
}

// awaitCatalog waits until this node has the definitions that the exporting one had: those before
// may name storages that the snapshot is newer than.
func (t *Tx) awaitCatalog(ctx context.Context, version uint64) error {
	limited, cancel := context.WithTimeout(ctx, mapTimeout)
	defer cancel()
	_, err := t.env.Catalog.WaitVersion(limited, version)
	switch {
	case err == nil:
		return t.FollowMap(ctx)
	case ctx.Err() != nil:
		return pgerr.Cancelled(ctx)
	}
	return pgerr.New(pgerr.CannotConnectNow,
		"this node does not have the definitions yet that the exported snapshot is of").
		WithHint("Try again in a moment.")
}
