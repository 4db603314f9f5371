package storage

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// DeleteSpan deletes everything in span, as of now, for a dropped or truncated table. It returns
// once the log has the entry; the keys are deleted in the background, at the entry's stamp, so that
// older snapshots still see them. Nothing may write to the span from here on: ids are never used
// again. (Badger's DropPrefix fails concurrent commits and breaks old snapshots.)
func (r *Replica) DeleteSpan(_ context.Context, span txn.Span) error {
	if span.Empty() {
		return nil
	}
	_, _, err := r.log.run((&logentry.DropSpan{Span: span}).Encode(), 0)
	return err
}

// dropJob is a span whose deletion has been logged and is not finished.
type dropJob struct {
	stamp   txn.Timestamp
	span    txn.Span
	left    []leftRange      // instead of span: what moves have left
	globals []logentry.Index // of these, where left is
}

func (m *machine) dropSpan(span txn.Span) error {
	stamp := m.s.stamp
	job := dropJob{stamp: stamp, span: span}
	if err := m.kvs.Set(keyspace.StampRecord(keyspace.Deletion, stamp), job.encode(), stamp); err != nil {
		return err
	}
	m.r.stats.Drop(span)
	m.s.own.uncount(span)
	m.effects.drops = append(m.effects.drops, job)
	return nil
}

// dropper deletes spans, one at a time, apart from the applying goroutine. Each replica deletes on
// its own: the keys and versions that it writes follow from the entry and from what the log had
// written before it.
type dropper struct {
	r    *Replica
	mu   sync.Mutex
	jobs []dropJob // guarded by mu
	busy bool      // guarded by mu
	done sync.WaitGroup
}

// openDropper finds the jobs that a restart has left; resume starts them.
func openDropper(r *Replica) (*dropper, error) {
	d := &dropper{r: r}
	var err error
	d.jobs, err = r.machine.unfinishedDeletions()
	return d, err
}

// unfinishedDeletions returns the deletions whose records are in the database. One that is above the
// state's stamp comes again with the log.
func (m *machine) unfinishedDeletions() (list []dropJob, err error) {
	t := m.r.db.At(txn.MaxTimestamp)
	defer t.Close()
	err = t.EachRecord(keyspace.Deletion, func(rest, v []byte) error {
		if len(v) == 0 {
			return nil // it ended during the read: its record is deleted at its own version, in place
		}
		job, err := decodeDrop(rest, v)
		if err == nil && job.stamp <= m.s.stamp {
			list = append(list, job)
		}
		return err
	})
	return list, err
}

func (d *dropper) start(job dropJob) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.jobs = append(d.jobs, job)
	d.begin()
}

func (d *dropper) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begin()
}

// begin is called with mu held.
func (d *dropper) begin() {
	if !d.busy && len(d.jobs) > 0 && !d.r.cfg.stopped {
		d.busy = true
		d.done.Add(1)
		go d.loop()
	}
}

func (d *dropper) loop() {
	defer d.done.Done()
	for {
		d.mu.Lock()
		if len(d.jobs) == 0 {
			d.busy = false
			d.mu.Unlock()
			return
		}
		job := d.jobs[0]
		d.jobs = d.jobs[1:]
		d.mu.Unlock()
		run := d.run
		if job.left != nil {
			run = d.runLeft
		}
		if err := run(job); err != nil {
			d.r.cfg.Logger.Warn("cannot delete rows in the background; will go on at the next start",
				"fragment", d.r.cfg.Fragment, "err", err)
		}
	}
}

func (d *dropper) wait() { d.done.Wait() }

// takeOver begins the jobs that a stream has brought.
func (d *dropper) takeOver() error {
	jobs, err := d.r.machine.unfinishedDeletions()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.jobs = jobs
	d.begin()
	return nil
}

// forget waits for the running job and drops those that have not begun: a stream brings its own
// records.
func (d *dropper) forget() {
	d.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.jobs = nil
}

const dropBatch = 1000 // keys between checks whether the replica is closing

// run writes a tombstone at the job's stamp for every key of the span, then removes the job's
// record. Memtables are flushed in order, so if the record is gone from the tables, its tombstones
// are in them.
func (d *dropper) run(job dropJob) error {
	if d.r.rows.waitInstalled(context.Background(), job.stamp, job.span) != nil {
		return nil // closing: the record stays
	}
	for _, span := range []txn.Span{job.span, keyspace.ChunkSpan(job.span)} {
		if len(span.End) == 0 {
			span.End = keyspace.End
		}
		for more := true; more; {
			select {
			case <-d.r.stopper.Stopped():
				return nil // the record stays
			default:
			}
			start := time.Now()
			var err error
			if span.Start, more, err = d.batch(span, job.stamp, nil); err != nil {
				return err
			}
			if more {
				d.rest(time.Since(start))
			}
		}
	}
	return d.finish(job)
}

// finish removes a job's record.
func (d *dropper) finish(job dropJob) error {
	d.r.fault("drop.deleted")
	b := d.r.db.NewBatch()
	// At the version of the record itself: no key is written above the stamp of the entry it comes
	// from.
	if err := b.Remove(keyspace.StampRecord(keyspace.Deletion, job.stamp), job.stamp); err != nil {
		return err
	}
	return b.Flush()
}

// Readers cannot see the rows once the table is dropped, so their deletion need not hurry: it works
// a tenth of the time.
const (
	restTimes = 9
	maxRest   = 250 * time.Millisecond
)

func (d *dropper) rest(worked time.Duration) {
	select {
	case <-time.After(min(restTimes*worked, maxRest)):
	case <-d.r.stopper.Stopped():
	}
}

// batch deletes some of the wanted keys (nil: all keys), from the start of span on, and returns the
// key from which to continue.
func (d *dropper) batch(
	span txn.Span, at txn.Timestamp, wanted func(key []byte) bool,
) (next []byte, more bool, err error) {
	t := d.r.db.At(at)
	defer t.Close()
	c := t.Scan(span, false)
	defer c.Close()
	b := d.r.db.NewBatch()
	for n := 0; c.Valid(); c.Next() {
		key := c.Item().KeyCopy()
		if n++; n > dropBatch {
			return key, true, b.Flush()
		}
		if wanted != nil && !wanted(key) {
			continue
		}
		if err := b.Remove(key, at); err != nil {
			return nil, false, err
		}
	}
	return nil, false, b.Flush()
}
