package stopped

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/raftlog"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// replica is an undamaged replica of a fragment that is here.
type replica struct {
	node     *node
	log      *raftlog.Group
	end      raft.Log // the last entry; 0: there is none
	stopped  *storage.Stopped
	scratch  string
	dropping []txn.Span
	behind   string // why it cannot be brought to the end of the longest log
}

func (r *replica) close() (err error) {
	if r.stopped != nil {
		err = r.stopped.Close()
		r.stopped = nil
	}
	if r.log != nil {
		err = errors.Join(err, r.log.Close())
		r.log = nil
	}
	if r.scratch != "" {
		err = errors.Join(err, os.RemoveAll(r.scratch))
	}
	return err
}

// longest returns the replica whose log has everything that was decided, as far as any log here
// has: the one that Raft would elect.
func longest(list []*replica) (best *replica, err error) {
	for _, r := range list {
		last, err := r.log.LastIndex()
		if err == nil && last > 0 {
			err = r.log.GetLog(last, &r.end)
		}
		if err != nil {
			return nil, err
		}
		if best == nil || r.end.Term > best.end.Term || r.end.Term == best.end.Term && r.end.Index > best.end.Index {
			best = r
		}
	}
	return best, nil
}

// open opens the replicas, each as it would be at the end of the longest log, and chooses the one
// to read.
func (f *fragment) open(ctx context.Context) error {
	best, err := longest(f.replicas)
	if err != nil {
		return err
	}
	// The replica with the longest log comes first, so that its own faults are not reported as
	// differences from others.
	slices.SortStableFunc(f.replicas, func(a, b *replica) int {
		switch {
		case a == best && b != best:
			return -1
		case b == best && a != best:
			return 1
		}
		return 0
	})
	for _, r := range f.replicas {
		if err := ctx.Err(); err != nil {
			return err
		}
		log, err := joined(r, best)
		if err != nil {
			return err
		}
		if log == nil {
			continue
		}
		if err := f.openOne(r, log); err != nil {
			f.damaged(r.node, text(err))
		} else if f.read == nil {
			f.read = r
		}
	}
	if f.read == nil {
		f.check.Unread(f.def.ID)
	}
	return nil
}

func (f *fragment) openOne(r *replica, log raft.LogStore) (err error) {
	r.scratch = filepath.Join(r.node.scratch, strconv.FormatUint(uint64(f.def.ID), 10))
	r.stopped, err = storage.OpenStopped(storage.Config{
		Dir: r.node.folder(f.def.ID), Fragment: f.def.ID, Logger: f.Logger, Added: f.def.Added,
		Global: func(table, index uint32) bool { return f.view.GlobalIndex(table, index) },
	}, log, r.scratch)
	if err != nil {
		return err
	}
	r.dropping, err = r.stopped.Dropping()
	return err
}

// compare compares the replicas that are here.
func (f *fragment) compare(ctx context.Context) error {
	id := f.def.ID
	if len(f.def.Nodes) < 2 {
		return nil
	}
	if len(f.replicas) < 2 {
		f.check.NotCompared(id, "one replica is here, of those on "+
			f.where()+"; name more directories with --data to compare them")
		return nil
	}
	var skip []txn.Span
	for _, r := range f.replicas {
		skip = append(skip, r.dropping...)
	}
	var list []verify.Replica
	for _, node := range f.def.Nodes {
		x := verify.Replica{Node: f.name(node)}
		i := slices.IndexFunc(f.replicas, func(r *replica) bool { return r.node.NodeID == node })
		switch {
		case i < 0 && f.node(node) == nil:
			x.Missed, x.Excused = "its directory is not here", true
		case i < 0, f.replicas[i].stopped == nil && f.replicas[i].behind == "":
			x.Missed, x.Excused = "it cannot be read", true // the reason is reported elsewhere
		case f.replicas[i].stopped == nil:
			x.Missed, x.Excused = f.replicas[i].behind, true
		default:
			r := f.replicas[i]
			d, err := r.stopped.Digest(ctx, skip)
			if err != nil {
				return fmt.Errorf("node %s: %w", x.Node, err)
			}
			x.Leads, x.Keys, x.Sum = r == f.read, d.Keys, hex.EncodeToString(d.Sum[:])
		}
		list = append(list, x)
	}
	f.check.Replicas(id, list)
	return nil
}

// tail is the log of one replica up to the first entry of another log, and that log from there on.
type tail struct {
	raft.LogStore // the other
	own           raft.LogStore
	first         uint64
}

// GetLog implements raft.LogStore.
func (t tail) GetLog(index uint64, l *raft.Log) error {
	if index < t.first {
		return t.own.GetLog(index, l)
	}
	return t.LogStore.GetLog(index, l)
}

// joined returns the log that brings a replica to the end of best's. If the two logs do not meet,
// it returns nil and sets r.behind to the reason.
func joined(r, best *replica) (raft.LogStore, error) {
	if r == best {
		return best.log, nil
	}
	first, err := best.log.FirstIndex()
	if err != nil {
		return nil, err
	}
	if r.end.Index < first || first == 0 {
		r.behind = fmt.Sprintf("its log ends with entry %d, before the other begins", r.end.Index)
		return nil, nil
	}
	own, err := r.log.FirstIndex()
	if err != nil {
		return nil, err
	}
	var a, b raft.Log
	at := max(first, own)
	if at > best.end.Index {
		r.behind = fmt.Sprintf("its log begins with entry %d, behind the other's end", at)
		return nil, nil
	}
	if err := errors.Join(r.log.GetLog(at, &a), best.log.GetLog(at, &b)); err != nil {
		return nil, err
	}
	if a.Term != b.Term {
		r.behind = fmt.Sprintf("from entry %d on its log is another than most have", at)
		return nil, nil
	}
	return tail{best.log, r.log, first}, nil
}
