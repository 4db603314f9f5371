package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/sparse"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/marker"
	"github.com/sherddb/sherd/storage/pins"
	"github.com/sherddb/sherd/storage/truncation"
	"github.com/sherddb/sherd/txn"
)

// Stopped is the replica of a process that has ended, cleanly or not, as it would be after applying
// all of its log. Nothing in its directory is changed; what has to be written goes elsewhere. One
// replica among several may have entries at the end of its log that were never decided. They are
// applied too, because the result must be consistent all the same.
//
// Undecided transactions stay undecided here: they are listed, and reads ignore their writes.
type Stopped struct {
	r    *Replica
	view *View
}

// OpenStopped reads the replica in cfg.Dir, which VerifyTables has found to be whole. log is the
// log of its group, which VerifyLog has found readable. scratch is a directory for what has to be
// written. No other process may have the replica open.
func OpenStopped(cfg Config, log raft.LogStore, scratch string) (_ *Stopped, err error) {
	cfg.setDefaults()
	if err := shadow(cfg.Dir, scratch); err != nil {
		return nil, err
	}
	cfg.Dir, cfg.Clock, cfg.stopped, cfg.Disk.MemTable = scratch, txn.NewClock(nil, 0), true, stoppedMemTable
	r := newReplica(cfg)
	defer func() {
		if x := recover(); x != nil { // an entry that cannot be applied
			err = fmt.Errorf("%v", x)
		}
		if err != nil {
			r.stopper.Stop()
			r.installs.Wait()
			if r.db != nil {
				r.db.Abandon()
			}
		}
	}()
	if err := r.openFiles(); err != nil {
		return nil, err
	}
	last, err := log.LastIndex()
	if err != nil {
		return nil, err
	}
	if err := r.machine.recover(log, last); err != nil {
		return nil, err
	}
	r.installs.Wait()
	r.txns.undecided.Store(0) // so that readers do not wait
	s := &Stopped{r: r}
	s.view = s.at(r.Applied())
	return s, nil
}

func (s *Stopped) at(T txn.Timestamp) *View {
	r := s.r
	v := &View{r: r, t: newTx(r, txn.ID{}), T: T, own: r.Owned.Load(), b: r.db.At(T), restores: r.db.Replacements()}
	v.OwnedOnly()
	return v
}

const stoppedMemTable = 32 << 20

// Close ends the reading. What is in the scratch directory is its owner's to remove.
func (s *Stopped) Close() error {
	s.view.Close()
	s.r.stopper.Stop()
	return s.r.db.Close(false)
}

// View reads the buckets that are the fragment's, as of the end of the log.
func (s *Stopped) View() *View { return s.view }

// ViewAt is View as of T, or of the end of the log if that is earlier. The caller closes it.
func (s *Stopped) ViewAt(T txn.Timestamp) (*View, error) {
	if T < s.r.pins.Watermark() {
		return nil, pins.TooOld(T)
	}
	return s.at(min(T, s.r.Applied())), nil
}

// Applied returns the largest stamp in the log.
func (s *Stopped) Applied() txn.Timestamp { return s.r.Applied() }

// Digest is Inspector.Digest at the end of the log. Spans that are being deleted in any of the
// compared replicas are left out.
func (s *Stopped) Digest(ctx context.Context, skip []txn.Span) (Digest, error) {
	return s.r.Inspect.Digest(ctx, s.r.Applied(), skip)
}

// Stats returns the statistics at the timestamp of View.
func (s *Stopped) Stats() []counts.Range { return s.r.stats.ByGroup() }

// Undecided returns the prepared transactions whose outcome is not known here.
func (s *Stopped) Undecided() []Undecided { return s.r.Outcomes.Undecided(txn.MaxTimestamp) }

// PreparedTransactions returns how many transactions of PREPARE TRANSACTION are here.
func (s *Stopped) PreparedTransactions() int { return len(s.r.txns.preparations) }

// Ownership returns what the replica's Owned.Ranges returns.
func (s *Stopped) Ownership() []OwnedRange { return s.r.Owned.Ranges() }

// OwnershipAt returns the ownership that ViewAt(T) uses: a range is owned if its rows are returned,
// and gone otherwise.
func (s *Stopped) OwnershipAt(T txn.Timestamp) (out []OwnedRange) {
	o := s.r.Owned.Load()
	if o == nil {
		return nil
	}
	for _, p := range o.List {
		at := p.Range
		if at.State = Gone; p.Counted(min(T, s.r.Applied())) {
			at.State = Owned
		}
		out = append(out, at)
	}
	return out
}

// Dropping returns the spans whose keys the replica was deleting.
func (s *Stopped) Dropping() ([]txn.Span, error) { return s.r.Inspect.Dropping() }

// VerifyLog reads every entry of a group's log and returns their number.
func VerifyLog(ctx context.Context, log raft.LogStore) (n uint64, err error) {
	first, err := log.FirstIndex()
	if err != nil {
		return 0, err
	}
	last, err := log.LastIndex()
	if err != nil || last == 0 {
		return 0, err
	}
	for i := first; i <= last; i++ {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		var l raft.Log
		if err := log.GetLog(i, &l); err != nil {
			return n, err
		}
		if l.Type == raft.LogCommand {
			_, err := logentry.Decode(l.Data)
			if _, terr := raftgroup.TermOf(&l); err == nil {
				err = terr
			}
			if err != nil {
				return n, damaged("log entry %d cannot be read: %v", i, err)
			}
		}
		n++
	}
	return n, nil
}

// shadow fills an empty directory so that it can be opened, and written to, instead of a replica's.
// Tables are never changed: they are linked, and Badger may not merge them
// (engine.Options.ReadOnly). Tables that cannot be opened for writing are copied, because Badger
// opens them so.
func shadow(dir, to string) error {
	for _, sub := range []string{"data", "snapshots"} {
		if err := shadowFolder(filepath.Join(dir, sub), filepath.Join(to, sub)); err != nil {
			return err
		}
	}
	for _, name := range []string{truncation.File, engine.CleanFile} {
		if err := sparse.File(filepath.Join(to, name), filepath.Join(dir, name)); err != nil &&
			!errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func shadowFolder(dir, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, n := range names {
		from, at := filepath.Join(dir, n.Name()), filepath.Join(to, n.Name())
		switch {
		case n.IsDir() || n.Name() == "LOCK":
			continue
		case n.Name() == marker.StreamFile, filepath.Ext(n.Name()) == ".sst" && writable(from):
			if from, err = filepath.Abs(from); err == nil {
				err = os.Symlink(from, at)
			}
		default:
			err = sparse.File(at, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writable reports whether the file can be opened for writing. It changes nothing.
func writable(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// Remains returns what the replica in cfg.Dir has. It must not be open. Only Dir, Fragment, Node
// and Device count.
func Remains(cfg Config) (out raftgroup.Remains, err error) {
	err = closed(cfg, func(o raftgroup.Options) (err error) {
		out, err = raftgroup.Look(o)
		return err
	})
	return out, err
}

// UnsafeRecover makes the replica in cfg.Dir, which must not be open, the only one of its fragment
// (raftgroup.UnsafeRecover).
func UnsafeRecover(cfg Config) error { return closed(cfg, raftgroup.UnsafeRecover) }

func closed(cfg Config, f func(raftgroup.Options) error) error {
	cfg.setDefaults()
	lock, err := engine.LockDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	snaps := marker.New(marker.Config{Dir: filepath.Join(cfg.Dir, "snapshots")})
	if snaps.Received() {
		return errors.New("the replica was being filled when it stopped")
	}
	return f(raftgroup.Options{
		Dir: filepath.Join(cfg.Dir, "raft"), Name: fmt.Sprintf("fragment-%d", cfg.Fragment), ID: cfg.Group.Node,
		Device: cfg.Group.Device, DeviceGroup: uint64(cfg.Fragment), Snapshots: snaps,
		SegmentSize: cfg.Group.LogSegment, Logger: cfg.Logger,
	})
}
