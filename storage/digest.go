package storage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/pins"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// Replicas of a fragment are compared by what can be read from them at one stamp. Reach and Digest
// answer on replicas that do not lead, and only verifiers may call them: that a replica has applied
// T does not mean that a client may read at T (T5).

// Reach waits until everything visible at T, a stamp that the leader has applied, is in this
// replica's database, whether the replica leads or not: everything up to T is applied, what was
// prepared by then is decided, and its rows are written. It returns the spans for which this does
// not hold: those whose keys are being deleted here, which each replica does at its own pace, and
// those into which moves bring rows with versions that may be older than T.
func (i *Inspector) Reach(ctx context.Context, T txn.Timestamp) (undecided []txn.Span, err error) {
	for i.r.Applied() < T {
		// A wait also ends if the term ends; a follower goes on waiting.
		if err := i.r.proposer.Applied.Wait(ctx, nil, uint64(T)); err != nil &&
			(ctx.Err() != nil || i.r.stopper.IsStopped()) {
			return nil, err
		}
	}
	if err := i.r.Outcomes.WaitDecided(ctx, T); err != nil {
		return nil, err
	}
	dropping, err := i.Dropping()
	if err != nil {
		return nil, err
	}
	coming, err := i.r.Moves.ingesting(T)
	return append(dropping, coming...), err
}

// Digest is what two replicas of a fragment must have in common at a timestamp.
type Digest struct {
	Keys int64
	Sum  [sha256.Size]byte // of keys, versions and values, in the order of the keys
}

// Digest reads everything visible at T except what lies in the skipped spans. Reach must have
// returned for T, and the leader must keep the versions at T. It returns errArriving if skip does
// not contain everything that Reach returns now.
func (i *Inspector) Digest(ctx context.Context, T txn.Timestamp, skip []txn.Span) (Digest, error) {
	if !i.r.stopper.Begin() {
		return Digest{}, proposer.ErrNotLeader
	}
	defer i.r.stopper.End()
	i.r.machine.mu.Lock() // no stream is replacing the database
	restores := i.r.db.Replacements()
	i.r.machine.mu.Unlock()
	if _, err := i.Reach(ctx, T); err != nil {
		return Digest{}, err
	}
	t := i.r.db.At(T)
	defer t.Close()
	d := digester{h: sha256.New(), skip: skip}
	// A local index entry that came back with its bucket was there before, at the same version. The
	// two values differ in the generation, and it is not certain which one the database has.
	o := i.r.Owned.Load()
	moved := o != nil && len(o.List) > 0
	c := t.Scan(txn.Span{End: keyspace.End}, false)
	defer c.Close()
	for n := 1; c.Valid(); n++ {
		if n%ctxEvery == 0 && (ctx.Err() != nil || i.r.stopper.IsStopped()) {
			return Digest{}, cmp.Or(ctx.Err(), error(proposer.ErrNotLeader))
		}
		item := c.Item()
		version, local := uint64(item.At()), moved && i.r.Globals.IsLocalEntry(item.Key())
		if err := c.Row(func(key, value []byte) error {
			if local {
				value = nil
			}
			d.add(key, version, value)
			return nil
		}); err != nil {
			return Digest{}, err
		}
		c.Next()
	}
	coming, err := i.r.Moves.ingesting(T)
	if err != nil {
		return Digest{}, err
	}
	switch {
	case !leavesOut(skip, coming):
		return Digest{}, errArriving
	case restores != i.r.db.Replacements():
		return Digest{}, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the replica was filled anew meanwhile")
	case T < i.r.pins.Watermark():
		return Digest{}, pins.TooOld(T)
	}
	return d.sum(), nil
}

// digester makes a Digest.
type digester struct {
	h    hash.Hash
	keys int64
	skip []txn.Span
	head []byte
}

// add takes a key. Lengths precede bytes, so that different lists of keys and values have different
// bytes.
func (d *digester) add(key []byte, version uint64, value []byte) {
	if slices.ContainsFunc(d.skip, func(s txn.Span) bool { return s.Contains(key) }) {
		return
	}
	d.keys++
	d.head = binary.AppendUvarint(d.head[:0], uint64(len(key)))
	d.head = append(d.head, key...)
	d.head = binary.BigEndian.AppendUint64(d.head, version)
	d.head = binary.AppendUvarint(d.head, uint64(len(value)))
	d.h.Write(d.head)
	d.h.Write(value)
}

func (d *digester) sum() Digest {
	out := Digest{Keys: d.keys}
	d.h.Sum(out.Sum[:0])
	return out
}

// Rows that a move brings keep the versions that they had at the source. So a replica that has
// applied T may still get rows that are visible at T, and two replicas have the same of these rows
// only when both have applied everything that was copied. A comparison of replicas leaves such rows
// out.

// undoneCopies lists moves that were given up recently. What they had copied stays visible at the
// stamps before. Only this process knows them.
type undoneCopies struct {
	mu   sync.Mutex
	list []undoneCopy // guarded by mu
}

type undoneCopy struct {
	at   txn.Timestamp
	left []leftRange
}

// maxUndone bounds what is remembered.
const maxUndone = 256

func (u *undoneCopies) add(at txn.Timestamp, left []leftRange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.list) == maxUndone {
		u.list = slices.Delete(u.list, 0, 1)
	}
	u.list = append(u.list, undoneCopy{at, left})
}

func (u *undoneCopies) since(T txn.Timestamp) (left []leftRange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, x := range u.list {
		if x.at > T {
			left = append(left, x.left...)
		}
	}
	return left
}

// ingesting returns the spans in which rows visible at T may have come after T was applied, or may
// still come. Keys of local index entries contain no bucket, so local indexes are left out as a
// whole.
func (r *Mover) ingesting(T txn.Timestamp) (out []txn.Span, err error) {
	job := dropJob{left: r.undone.since(T)}
	if o := r.Owned.Load(); o != nil {
		for _, p := range o.Applied {
			if p.State == Receiving || p.Edge > T {
				job.left = append(job.left, leftRange{p.BucketRange, p.Generation})
			}
		}
	}
	swept := r.swept.Load() > uint64(T) // as of T, too
	if len(job.left) == 0 && !swept {
		return nil, nil
	}
	t := r.db.At(txn.MaxTimestamp)
	defer t.Close()
	err = t.EachIndex(func(x logentry.Index) error {
		switch {
		case x.Index == keyspace.Rows:
		case r.Globals.Is(x):
			job.globals = append(job.globals, x)
		default:
			prefix := keyspace.IndexPrefix(x.Table, x.Index)
			out = append(out, txn.Span{Start: prefix, End: txn.PrefixEnd(prefix)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	spans, err := leftSpans(r.db, &job, txn.MaxTimestamp)
	for _, s := range spans {
		if !s.chunk {
			out = append(out, s.Span)
		}
	}
	return out, err
}

// errArriving says that a digest is worth nothing.
var errArriving = pgerr.New(pgerr.ObjectNotInPrerequisiteState, "rows came by a move meanwhile")

// leavesOut reports whether each of spans lies in a skipped span.
func leavesOut(skip, spans []txn.Span) bool {
	for _, s := range spans {
		if !slices.ContainsFunc(skip, func(k txn.Span) bool {
			return string(k.Start) <= string(s.Start) && string(s.End) <= string(k.End)
		}) {
			return false
		}
	}
	return true
}
