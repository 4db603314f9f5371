package sql

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
	modes    modes
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
	Catalog      uint64            // the version of the catalog at the exporting node
	PartsBy      *shardmap.Map     // by which sherd.fragment means fragments; nil: of a node of an older release, which does not say
	Storages     []SnapshotStorage // what the database's tables and indexes that are in force there had when the snapshot was taken
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

// exportingNode returns the node in a snapshot's name; ok is false if a node of this release does not make such names.
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

// exportSnapshot is pg_export_snapshot: others may read what this transaction reads, as long as it is open.
func (s *Session) exportSnapshot(ctx context.Context) (string, error) {
	t := s.tx
	if len(t.savepoints) > 0 {
		return "", activeTransaction("cannot export a snapshot from a subtransaction")
	}
	s.db.storages.observeAll(s.db.cfg.Catalog.View())
	seen := s.db.storages.count() // before the timestamp of READ COMMITTED is taken
	T, err := t.opened(ctx)
	if err != nil {
		return "", err
	}
	if err := t.hold(T, t.parts.HoldSnapshot); err != nil {
		return "", err
	}
	e := exported{t: T, database: s.database, modes: t.modes, past: t.past, seen: seen, partsBy: t.partMap()}
	e.modes.readOnly = t.isReadOnly()
	if t.t != 0 {
		e.seen, e.imported = t.seen, t.imported
	}
	id := s.db.exports.add(s.db.self(), e)
	t.exported = append(t.exported, id)
	return id, nil
}

// self is this node's number, 0 if there are no others.
func (db *Server) self() uint32 {
	if db.cfg.Others == nil {
		return 0
	}
	return db.cfg.Others.Self
}

// ExportedSnapshot returns a snapshot that an open transaction of this node has exported.
func (db *Server) ExportedSnapshot(id string) (x ExportedSnapshot, ok bool) {
	e, ok := db.exports.get(id)
	if !ok {
		return x, false
	}
	view := db.cfg.Catalog.View()
	known := e.imported
	if known == nil {
		known = db.storages.sightedBefore(view, e.database, e.seen)
	}
	x = ExportedSnapshot{
		T: e.t, Database: e.database, Serializable: e.modes.isolation() == txn.Serializable, ReadOnly: e.modes.readOnly, Past: e.past,
		Catalog: view.Version(), PartsBy: e.partsBy,
	}
	for _, s := range slices.SortedFunc(maps.Keys(known), storage.compare) {
		x.Storages = append(x.Storages, SnapshotStorage{s.id, s.index, s.rules})
	}
	return x, true
}

func (s storage) compare(o storage) int {
	return cmp.Or(cmp.Compare(s.id, o.id), cmp.Compare(s.index, o.index), cmp.Compare(s.rules, o.rules))
}

// findSnapshot asks the exporting node for a snapshot. 22023 if no open transaction has exported it.
func (db *Server) findSnapshot(ctx context.Context, id string) (x ExportedSnapshot, err error) {
	node, named := exportingNode(id)
	ok := false
	switch {
	case !named:
	case node == db.self():
		x, ok = db.ExportedSnapshot(id)
	case db.cfg.Others != nil:
		x, ok, err = db.cfg.Others.Snapshot(ctx, node, id)
	}
	if err != nil || ok {
		return x, err
	}
	e := pgerr.New(pgerr.InvalidParameterValue, `invalid snapshot identifier: "%s"`, id)
	if !named && olderSnapshotID.MatchString(id) && db.cfg.Others != nil {
		e = e.WithHint("If a node of an older release exported it, import it at that node, or upgrade all nodes.")
	}
	return x, e
}

// olderSnapshotID is the form of a name that does not say which node exported the snapshot.
var olderSnapshotID = regexp.MustCompile(`^[0-9A-F]{8}-[0-9A-F]{8}-[0-9]+$`)

// importSnapshot makes the transaction read what the one reads that has exported a snapshot.
func (t *transaction) importSnapshot(ctx context.Context, x ExportedSnapshot) error {
	err := t.mayImport(x)
	if err == nil {
		err = t.awaitCatalog(ctx, x.Catalog)
	}
	if err == nil {
		err = t.readAt(x.T, t.parts.HoldSnapshot)
	}
	if err != nil {
		return err
	}
	if x.PartsBy != nil {
		t.partsBy = x.PartsBy
	}
	t.past, t.imported = x.Past, make(map[storage]bool, len(x.Storages))
	for _, s := range x.Storages {
		t.imported[storage{s.ID, s.Index, s.Rules}] = true
	}
	return nil
}

// mayImport returns PostgreSQL's reasons against an import.
func (t *transaction) mayImport(x ExportedSnapshot) error {
	switch serializable := t.modes.isolation() == txn.Serializable; {
	case serializable && !x.Serializable:
		return pgerr.New(pgerr.FeatureNotSupported, "a serializable transaction cannot import a snapshot from a non-serializable transaction")
	case serializable && x.ReadOnly && !t.modes.readOnly:
		return pgerr.New(pgerr.FeatureNotSupported, "a non-read-only serializable transaction cannot import a snapshot from a read-only transaction")
	case x.Database != t.env.database:
		return pgerr.New(pgerr.FeatureNotSupported, "cannot import a snapshot from a different database")
	case serializable && t.modes.readOnly && t.modes.deferrable:
		return pgerr.New(pgerr.FeatureNotSupported, "a snapshot-importing transaction must not be READ ONLY DEFERRABLE")
	}
	return nil
}

// awaitCatalog waits until this node has the definitions that the exporting one had: those before may name storages that the snapshot is newer than.
func (t *transaction) awaitCatalog(ctx context.Context, version uint64) error {
	limited, cancel := context.WithTimeout(ctx, mapPatience)
	defer cancel()
	_, err := t.env.catalog.WaitVersion(limited, version)
	switch {
	case err == nil:
		return t.follow(ctx)
	case ctx.Err() != nil:
		return cancelled(ctx)
	}
	return pgerr.New(pgerr.CannotConnectNow, "this node does not have the definitions yet that the exported snapshot is of").
		WithHint("Try again in a moment.")
}
