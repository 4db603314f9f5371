package exec

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// INSERT … ON CONFLICT into a table with secondary indexes makes proposals, a batch at a time.
// First the entries of the arbiter indexes are claimed in their fragments. Then a row whose claims
// succeeded is inserted; a row that conflicts with another is skipped, or sent as an upsert to that
// row. Then the other entries follow from what the fragments report. If several constraints may
// decide (DO NOTHING without a target), a row may claim one key and lose another, so rows are
// handled one by one, and release what they have claimed.

// proposal is a row that waits for the decision.
type proposal struct {
	bucket  shardmap.Bucket
	write   Write
	entries []table.Entry // of the proposed row
	claimed []bool        // by rule; one that claims has one entry at most
	owner   []byte        // key of the row that it conflicts with
}

// arbitrates reports whether ON CONFLICT involves secondary indexes.
func (o *insertOp) arbitrates() bool { return o.node.OnConflict != nil && len(o.rule.Indexes) > 0 }

// propose keeps a row for the decision.
func (in *insertion) propose(bucket shardmap.Bucket, w Write) error {
	p := &proposal{bucket: bucket, write: w, claimed: make([]bool, len(in.o.rule.Indexes))}
	p.write.Key, p.write.Value = append([]byte(nil), w.Key...), append([]byte(nil), w.Value...)
	for _, x := range in.o.rule.Indexes {
		var err error
		if p.entries, _, err = x.Entries(&in.c.Ctx, in.o.next, w.Key, p.entries, nil); err != nil {
			return err
		}
	}
	in.proposals = append(in.proposals, p)
	if len(in.proposals) < stageRows {
		return nil
	}
	return in.flush()
}

// decideAll handles all proposals.
func (in *insertion) decideAll() error {
	oc, list := in.o.node.OnConflict, in.proposals
	in.proposals, in.bytes = nil, in.bytes[:0]
	step := len(list)
	if len(oc.Arbiters) > 1 || len(oc.Arbiters) == 1 && oc.Primary {
		step = 1
	}
	for len(list) > 0 {
		if err := in.decide(list[:step]); err != nil {
			return err
		}
		list = list[step:]
	}
	return nil
}

// decide handles a batch of proposals.
func (in *insertion) decide(batch []*proposal) error {
	if err := in.claim(batch); err != nil {
		return err
	}
	for _, p := range batch {
		w := p.write
		switch {
		case p.owner == nil:
			in.out.add(p.bucket, w)
		// DO NOTHING checks whether the transaction may see that row.
		case in.o.node.OnConflict.Update, !in.c.rechecks():
			w.Kind, w.Key = WriteUpsert, p.owner
			_, w.Hit = in.hits[string(w.Key)]
			in.out.add(table.BucketIn(w.Key), w)
		}
	}
	parts, err := in.out.flush()
	if err != nil {
		return err
	}
	if err := in.updateReturned(parts); err != nil {
		return err
	}
	if err := in.follow(batch, parts); err != nil {
		return err
	}
	return in.answer(parts)
}

// claim claims the entries of the arbiter indexes.
func (in *insertion) claim(batch []*proposal) error {
	byPlace := make(map[int64]*proposal, len(batch))
	for _, p := range batch {
		byPlace[p.write.Place] = p
		for _, e := range p.entries {
			if e.Exclusive && slices.Contains(in.o.node.OnConflict.Arbiters, e.Index.At) {
				in.out.add(e.Bucket, entryWrite(WriteClaim, e, nil, p.write.Place))
			}
		}
	}
	parts, err := in.out.flush()
	if err != nil {
		return err
	}
	for _, part := range parts {
		for i, a := range part.answers {
			p := byPlace[a.place]
			if a.what == didInsert {
				p.claimed[a.index] = true
				continue
			}
			if p.owner, err = in.o.rule.Table.RowOfEntry(nil, part.writes[i].Key, a.old); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow writes the entries that follow from the results.
func (in *insertion) follow(batch []*proposal, parts []*part) error {
	byPlace := make(map[int64]*proposal, len(batch))
	for _, p := range batch {
		byPlace[p.write.Place] = p
		if p.owner != nil {
			in.release(p)
		}
	}
	later := &laterEntries{}
	later.Mem = in.c.Mem
	defer later.Free()
	for _, part := range parts {
		for i, a := range part.answers {
			p, err := byPlace[a.place], error(nil)
			switch a.what {
			case didShare:
			case didInsert:
				in.complete(p)
			case didUpdate:
				err = in.updated(later, part.writes[i].Key, a)
			default:
				in.release(p)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := later.send(&in.out); err != nil {
		return err
	}
	_, err := in.out.flush()
	return err
}

// release removes the claimed entries of a row that is not inserted.
func (in *insertion) release(p *proposal) {
	for _, e := range p.entries {
		if p.claimed[e.Index.At] {
			in.out.add(e.Bucket, entryWrite(WriteUnentry, e, nil, 0))
			p.claimed[e.Index.At] = false
		}
	}
}

// complete adds the entries of an inserted row that it has not claimed.
func (in *insertion) complete(p *proposal) {
	for _, e := range p.entries {
		if !p.claimed[e.Index.At] {
			in.out.add(e.Bucket, entryWrite(WriteEntry, e, p.write.Value, 0))
		}
	}
}

// updated adds the effect of DO UPDATE on the indexes.
func (in *insertion) updated(later *laterEntries, key []byte, a answer) error {
	rule, width := in.o.rule, len(in.o.rule.Table.Kinds)
	both := make(types.Row, 2*width)
	var old, next types.RowReader
	if err := rule.Table.Decode(&old, both[:width], a.old); err != nil {
		return err
	}
	if err := rule.Table.Decode(&next, both[width:], a.value); err != nil {
		return err
	}
	return in.out.changeEntries(in.c, rule.Indexes, later, both[:width], key, both[width:], key, a.value)
}

// claim puts an exclusive entry, or returns the existing one. DO NOTHING checks before it locks, so
// that transactions which find an existing row do not wait for each other.
func (o *stageOp) claim(c *Ctx, x *table.Index, w *Write, emit Emit) error {
	existing, err := newestEntry(c, x, w.Key)
	if err != nil {
		return err
	}
	if existing == nil || o.conf.update {
		req := txn.LockRequest{Mode: txn.Update, T: maxT}
		if _, err := lockRow(c, o.rule.Table, w.Key, req, "inserting"); err != nil {
			return err
		}
		if existing, err = newestEntry(c, x, w.Key); err != nil {
			return err
		}
	}
	if existing != nil {
		return o.reply(emit, w, didSkip, types.Null, types.NewBytes(aliasString(existing)))
	}
	if err := putEntry(c, x, w.Key, w.Value); err != nil {
		return err
	}
	return o.reply(emit, w, didInsert, types.Null, types.Null)
}

// upsert is ON CONFLICT for a row that was found by its entry. DO UPDATE holds the entry's lock, so
// the row still exists. DO NOTHING does not, and the row may be gone.
func (o *stageOp) upsert(c *Ctx, w *Write, emit Emit) error {
	existing, err := o.taken(c, w.Key)
	if err != nil {
		return err
	}
	if existing == nil && !o.conf.update {
		if err := named(c, o.rule.Table, w.Key, c.local.tx.ChangedSince(c.ctx(), w.Key, c.local.task.T)); err != nil {
			return err
		}
	}
	if existing == nil {
		return pgerr.New(pgerr.DataCorrupted,
			"index entry of table %q names a row that is not there", o.rule.Table.Def.Name)
	}
	return o.conflict(c, w, existing, emit)
}
