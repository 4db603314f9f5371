package move

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/rebalance/rows"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

const (
	copyBytes = 1 << 20 // gathered for one entry of the target's log
	copyAhead = 4       // entries under way at a time
)

// copier takes the versions that the source's reads return, derives the entries of local indexes,
// and writes both at the target.
type copier struct {
	s          *step
	generation uint32
	floor      txn.Timestamp    // lowest version of local index entries: no reader at the target is below it
	older      *storage.Version // newest version of a row at or below floor; newer ones of the row may follow
	deriver    rows.Deriver
	derived    map[catalog.OID]uint64 // versions of the tables by which entries were derived
	unknown    map[uint32]bool        // storage ids of rows of no table
	globals    map[[2]uint32]bool     // indexes, by their tables' storage ids and theirs, whose entries came
	queue      *storage.IngestQueue
	batch      []storage.Version
	size       int
	given      map[entryAt]bool // entries of unique indexes that were put
	named      *catalog.Table   // the table whose segments are replaced; nil: none

	bytes, documents int64 // so far
}

// entryAt is an entry of an index at a version.
type entryAt struct {
	key string
	at  txn.Timestamp
}

func newCopier(s *step, generation uint32) *copier {
	c := &copier{
		s: s, generation: generation, floor: s.target.Watermark(), queue: s.target.Moves.NewIngestQueue(s.Number),
		derived: map[catalog.OID]uint64{}, unknown: map[uint32]bool{},
		globals: map[[2]uint32]bool{}, given: map[entryAt]bool{},
	}
	view := s.d.cfg.Catalog.View()
	if r := s.m.Resegment; r != nil {
		if c.named = view.Table(r.Table); c.named != nil {
			c.derived[r.Table] = c.named.Version // the flip changes the definition, also of a table without rows
		}
	}
	c.know(view)
	return c
}

// know makes the copier derive entries by the definitions of a view from now on.
func (c *copier) know(view *catalog.View) {
	c.deriver = c.s.d.cfg.Schema.Deriver(view)
}

// take derives the entries of a batch of versions from the source and queues both for the target.
// Unless the source is fenced (final), it then waits as long as the pace of moves demands.
func (c *copier) take(ctx context.Context, batch []storage.Version, final bool) error {
	if !c.s.runs() {
		return errOver
	}
	size := 0
	for i := 0; i < len(batch); {
		n := i + 1
		for n < len(batch) && bytes.Equal(batch[n].Key, batch[i].Key) {
			n++
		}
		if err := c.key(ctx, batch[i:n]); err != nil {
			return err
		}
		for _, v := range batch[i:n] {
			size += len(v.Key) + len(v.Value)
		}
		i = n
	}
	if final {
		return nil
	}
	if err := c.s.at(Copying); err != nil {
		return err
	}
	return c.s.d.pace.wait(ctx, size, moveRate(c.s.d.cfg.Catalog.View()))
}

// key takes the versions of a key.
func (c *copier) key(ctx context.Context, versions []storage.Version) error {
	if c.s.m.Resegment != nil {
		if !c.rename(versions) {
			return nil
		}
	}
	if key := versions[0].Key; !keyspace.IsRow(key) {
		table, index := keyspace.TableOf(key), keyspace.IndexOf(key)
		c.globals[[2]uint32{table, index}] = true
		c.s.target.Globals.Add(table, index) // the target's catalog may not have the index yet
	}
	for _, v := range versions {
		if err := c.add(ctx, v); err != nil {
			return err
		}
	}
	key := versions[0].Key
	if !keyspace.IsRow(key) {
		return nil
	}
	if versions[0].Before == nil && !versions[len(versions)-1].Deleted {
		c.documents++
	}
	if err := c.learn(ctx, keyspace.TableOf(key)); err != nil {
		return err
	}
	return c.entries(ctx, versions)
}

// entries derives the changes of local index entries from versions of a row. Of the versions at or
// below the floor only the newest counts, and its entries get the floor as their version, because
// the target hides older versions of entries that it has swept (M8). Such versions come only with
// the first read, which goes at least as far as the floor.
func (c *copier) entries(ctx context.Context, versions []storage.Version) error {
	key, before := versions[0].Key, versions[0].Before
	if c.older != nil && !bytes.Equal(c.older.Key, key) {
		if err := c.deriveOldest(ctx); err != nil {
			return err
		}
	}
	var list []rows.Version
	for _, v := range versions {
		if v.At <= c.floor {
			if c.s.T != 0 {
				return errLate
			}
			c.older = &v
			continue
		}
		if c.older != nil {
			list, before, c.older = append(list, rowVersion(c.older, c.floor)), nil, nil
		}
		list = append(list, rowVersion(&v, v.At))
	}
	return c.derive(ctx, key, before, list)
}

// errLate ends a step whose source runs a release without ReadRequest.AtLeast and has let a
// transaction prepare at a timestamp older than the retention of old versions. The next step begins
// with such a version.
var errLate = errors.New("a version that is older than the target's watermark has come after the first read")

// deriveOldest derives the entries of the version that was held back, because the row has no more
// versions.
func (c *copier) deriveOldest(ctx context.Context) error {
	o := c.older
	if c.older = nil; o == nil {
		return nil
	}
	return c.derive(ctx, o.Key, nil, []rows.Version{rowVersion(o, c.floor)})
}

func (c *copier) derive(ctx context.Context, key, before []byte, versions []rows.Version) error {
	if len(versions) == 0 {
		return nil
	}
	return c.deriver.Row(key, c.generation, before, versions, func(e rows.Change) error { return c.entry(ctx, e) })
}

func rowVersion(v *storage.Version, at txn.Timestamp) rows.Version {
	x := rows.Version{At: at}
	if !v.Deleted {
		x.Value = v.Value
	}
	return x
}

// rename puts the new segment of a row into the keys of its versions. It returns false if the row
// is not one of the table, for instance because it is from before a TRUNCATE.
func (c *copier) rename(versions []storage.Version) (ours bool) {
	key := versions[0].Key
	if c.named == nil || !keyspace.IsRow(key) || keyspace.TableOf(key) != c.named.StorageID {
		return false
	}
	named := keyspace.InBucket(key, uint32(c.segmentOf(keyspace.PrimaryKeyOf(key))))
	for i := range versions {
		versions[i].Key = named
	}
	return true
}

// segmentOf returns the bucket of the new segment that has a primary key of the old segments. The
// first new segment may begin above the lowest key of all.
func (c *copier) segmentOf(primaryKey []byte) shardmap.Bucket {
	list := c.s.m.Resegment.New
	return list[max(list.Place(primaryKey), 0)].Bucket
}

// entry copies a change of a local index entry. If one row releases a unique value and another row
// takes it in the same transaction, the entry of the latter stays.
func (c *copier) entry(ctx context.Context, e rows.Change) error {
	if e.Yields && e.Value == nil && c.given[entryAt{string(e.Key), e.At}] {
		return nil
	}
	if e.Yields && e.Value != nil {
		c.given[entryAt{string(e.Key), e.At}] = true
	}
	return c.add(ctx, storage.Version{Key: bytes.Clone(e.Key),
		At: e.At, Value: bytes.Clone(e.Value), Deleted: e.Value == nil})
}

// learn makes the deriver know a table. A table that no definition has at a moment after the read
// was dropped meanwhile, or is part of a table that is not visible yet: nothing of it may be
// derived, and the flip is conditional on what was derived.
func (c *copier) learn(ctx context.Context, storageID uint32) error {
	if c.unknown[storageID] {
		return nil
	}
	known, err := c.deriver.Knows(storageID)
	if err != nil {
		return err
	}
	if !known {
		view, err := c.s.d.cfg.Catalog.Current(ctx)
		if err != nil {
			return err
		}
		c.know(view)
		if known, err = c.deriver.Knows(storageID); err != nil {
			return err
		}
		if !known {
			c.unknown[storageID] = true
			return nil
		}
	}
	t := c.deriver.View().TableByStorage(storageID)
	if before, ok := c.derived[t.OID]; ok && before != t.Version {
		return &catalog.DefinitionsChangedError{Why: fmt.Sprintf("the definition of %q has changed", t.Name)}
	}
	c.derived[t.OID] = t.Version
	return nil
}

func (c *copier) add(ctx context.Context, v storage.Version) error {
	c.batch = append(c.batch, v)
	n := len(v.Key) + len(v.Value)
	c.bytes += int64(n)
	if c.size += n; c.size < copyBytes {
		return nil
	}
	return c.send(ctx)
}

// send queues the batch for the target's log; if foreground statements suffer, one entry at a time.
func (c *copier) send(ctx context.Context) error {
	if len(c.batch) == 0 {
		return nil
	}
	ahead := copyAhead
	if c.s.d.cfg.Suffers() {
		ahead = 0
	}
	batch := c.batch
	c.batch, c.size = nil, 0
	return c.queue.Put(ctx, batch, ahead)
}

// flush waits until everything that was taken is written.
func (c *copier) flush(ctx context.Context) error {
	if err := errors.Join(c.deriveOldest(ctx), c.send(ctx)); err != nil {
		return err
	}
	return c.queue.Flush()
}

// dropUnknown starts jobs that delete what was copied of tables and indexes that no longer exist:
// the job that deleted them may have visited the target before the copy arrived. If the driver ends
// first, the housekeeping of the leader finds the rest.
func (c *copier) dropUnknown(ctx context.Context) {
	view, database := c.s.d.cfg.Catalog.View(), c.s.m.Job.Database
	for id := range c.unknown {
		if catalog.OID(id) >= catalog.FirstOID && !view.KnowsStorage(id) {
			c.drop(ctx, func(job uint64) *catalog.Job { return catalog.NewDropStorageJob(job, database, id, now()) })
		}
	}
	for x := range c.globals {
		if view.KnowsStorage(x[0]) && !view.KnowsIndex(x[0], x[1]) {
			c.drop(ctx, func(job uint64) *catalog.Job {
				return catalog.NewDropIndexJob(job, database, x[0], x[1], now())
			})
		}
	}
}

func (c *copier) drop(ctx context.Context, job func(id uint64) *catalog.Job) {
	cat := c.s.d.cfg.Catalog
	id, err := cat.NewJobID(ctx)
	if err == nil {
		_, err = cat.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error { return ch.PutJob(job(id)) })
	}
	if err != nil {
		c.s.d.cfg.Logger.Warn("what a move has carried of a dropped table or index is not deleted",
			"move", c.s.m.Job.ID, "error", err)
	}
}
