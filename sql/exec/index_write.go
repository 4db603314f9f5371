package exec

import (
	"bytes"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// How secondary indexes are kept. Entries are computed where rows are: in the fragment, where a whole UPDATE or DELETE runs there (then all
// indexes it touches are local), else at the gateway, which stages each entry in the fragment where it belongs, in the same transaction. An
// entry that no other row may have is put, removed and claimed under the lock of its key: who wants the same key waits until it is known
// whether this transaction commits, and looks at the newest state then.
//
// A statement removes entries as it goes and puts exclusive ones when all are removed. So rows may exchange unique values within one
// statement, whatever the order in which they are met: the end of the statement counts, as the SQL standard has it. (PostgreSQL asks that of
// DEFERRABLE constraints only, and refuses or not by the order of the rows on disk for the others.)

// stage puts an entry, given in the plain form. taken tells that another row has it, and since whether there was a wait for that one's writer, as lockNew does.
func (x *indexRule) stage(c *Ctx, key, value []byte, exclusive bool) (taken bool, since txn.Timestamp, err error) {
	if exclusive {
		if since, err = x.table.lockNew(c, key, txn.LockRequest{Mode: txn.Update, T: maxT}); err != nil {
			return false, since, err
		}
		existing, err := x.newest(c, key)
		if err != nil {
			return false, since, err
		}
		if existing != nil {
			return !bytes.Equal(existing, value), since, nil
		}
	}
	return false, since, x.put(c, key, value)
}

// unstageEntry removes an entry.
func (t *table) unstageEntry(c *Ctx, key []byte, exclusive bool) error {
	if exclusive {
		if _, err := t.lockRow(c, key, txn.LockRequest{Mode: txn.Update, T: maxT}, "updating"); err != nil {
			return err
		}
	}
	return c.local.tx.Delete(key)
}

// entryKeeper keeps local indexes inside a fragment, for one statement.
type entryKeeper struct {
	rule    *tableRule
	buf     []byte
	pending writeSpool // exclusive ones, put when all rows have been
}

// change keeps the indexes where a row becomes another; next is nil for a deletion. value is the new row, encoded.
func (k *entryKeeper) change(c *Ctx, old Row, key []byte, next Row, value []byte) error {
	for _, x := range k.rule.indexes {
		remove, put, buf, err := x.change(c, old, key, next, key, k.buf[:0])
		k.buf = buf
		if err != nil {
			return err
		}
		if remove.key != nil {
			if err := k.rule.table.unstageEntry(c, remove.key, remove.exclusive); err != nil {
				return err
			}
		}
		switch {
		case put.key == nil:
		case put.exclusive:
			if err := k.hold(c, put, value); err != nil {
				return err
			}
		default:
			if _, _, err := x.stage(c, put.key, put.value, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *entryKeeper) hold(c *Ctx, e entry, value []byte) error {
	k.pending.mem = c.Mem
	w := entryWrite(WriteEntry, e, value, 0)
	return k.pending.keep(0, &w)
}

// finish puts what was held back.
func (k *entryKeeper) finish(c *Ctx) error {
	return k.pending.writes(func(_ uint32, w Write) error {
		taken, since, err := k.rule.indexes[w.Index].stage(c, w.Key, w.Value, true)
		if err == nil && taken {
			err = k.rule.table.named(c, w.Key, takenBy(c, w.Key, since, k.rule.duplicateEntry(c, w.Index, w.Row, false)))
		}
		return err
	})
}

// free forgets what is held back.
func (k *entryKeeper) free() { k.pending.free() }

// entryWrite makes the write of an entry for the fragment where it lies.
func entryWrite(kind WriteKind, e entry, row []byte, place int64) Write {
	return Write{Kind: kind, Key: e.key, Value: e.value, Place: place, Index: e.index.at, Exclusive: e.exclusive, Row: row}
}

// addEntries adds the entries of a new row to what is sent.
func (s *sender) addEntries(c *Ctx, rules []*indexRule, row Row, of *Write, buf []byte) ([]byte, error) {
	for _, x := range rules {
		e, rest, err := x.entry(c, row, of.Key, buf)
		buf = rest
		if err != nil {
			return buf, err
		}
		if e.key != nil {
			w := entryWrite(WriteEntry, e, of.Value, of.Place)
			w.Building = of.Building
			s.add(e.bucket, w)
		}
	}
	return buf, nil
}

// laterEntries are exclusive entries at the gateway, put when all of the statement's have been removed.
type laterEntries struct{ writeSpool }

func (l *laterEntries) add(e entry, row []byte) error {
	w := entryWrite(WriteEntry, e, row, 0)
	return l.keep(uint32(e.bucket), &w)
}

// send adds them all to what is sent.
func (s *writeSpool) send(to *sender) error {
	defer s.free()
	return s.writes(func(bucket uint32, w Write) error {
		to.add(shardmap.Bucket(bucket), w)
		if !to.full() {
			return nil
		}
		_, err := to.flush()
		return err
	})
}

// changeEntries adds what a row's change means for its indexes to what is sent, but exclusive entries to later.
func (s *sender) changeEntries(c *Ctx, rules []*indexRule, later *laterEntries, old Row, oldKey []byte, next Row, nextKey, value []byte) error {
	for _, x := range rules {
		remove, put, _, err := x.change(c, old, oldKey, next, nextKey, nil)
		if err != nil {
			return err
		}
		if remove.key != nil {
			s.add(remove.bucket, entryWrite(WriteUnentry, remove, nil, 0))
		}
		switch {
		case put.key == nil:
		case put.exclusive:
			if err := later.add(put, value); err != nil {
				return err
			}
		default:
			s.add(put.bucket, entryWrite(WriteEntry, put, value, 0))
		}
	}
	return nil
}

// entry stages a write of an index entry.
func (o *stageOp) entry(c *Ctx, w *Write, emit Emit) error {
	x := o.rule.indexes[w.Index]
	switch {
	case w.Kind == WriteUnentry && w.Exclusive && x.late:
		return x.unshare(c, w.Key, w.Value)
	case w.Kind == WriteUnentry:
		return o.rule.table.unstageEntry(c, w.Key, w.Exclusive)
	case w.Kind == WriteClaim:
		return o.claim(c, x, w, emit)
	case w.Kind == WriteSettle:
		return o.settleKey(c, x, w)
	case w.Deferred:
		return o.share(c, x, w, emit)
	}
	taken, since, err := x.stage(c, w.Key, w.Value, w.Exclusive)
	if err == nil && taken {
		err = o.rule.table.named(c, w.Key, takenBy(c, w.Key, since, o.rule.duplicateEntry(c, w.Index, w.Row, w.Building)))
	}
	return err
}
