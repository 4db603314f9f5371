package stopped

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// fragment is a fragment that is being checked.
type fragment struct {
	*checker
	check *verify.Check
	db    *catalog.Database
	def   *catalog.Fragment

	replicas []*replica
	read     *replica // the replica whose rows are checked; nil: none
}

// run checks the fragment. complete reports whether all of its data was seen.
func (f *fragment) run(ctx context.Context) (complete bool, err error) {
	if err := f.gather(ctx); err != nil {
		return false, err
	}
	if len(f.replicas) > 0 {
		if err := f.open(ctx); err != nil {
			return false, err
		}
	}
	if f.read == nil {
		return false, nil
	}
	if err := f.compare(ctx); err != nil {
		return false, err
	}
	return f.rows(ctx)
}

// close closes the replicas that run has opened.
func (f *fragment) close() (err error) {
	for _, r := range f.replicas {
		err = errors.Join(err, r.close())
	}
	return err
}

// gather finds the undamaged replicas that are here.
func (f *fragment) gather(ctx context.Context) error {
	id, any := f.def.ID, false
	for _, n := range f.nodes {
		if !slices.Contains(f.def.Nodes, n.NodeID) {
			continue
		}
		if _, err := os.Stat(n.folder(id)); errors.Is(err, fs.ErrNotExist) {
			if slices.Contains(f.def.Joining, n.NodeID) || slices.Contains(f.def.Leaving, n.NodeID) {
				continue // on its way
			}
			any = true
			f.damaged(n, fmt.Sprintf("the replica is missing: there is no directory fragments/%d", id))
			continue
		}
		any = true
		whole, err := f.verify(ctx, n)
		if err != nil {
			return err
		}
		if whole {
			g, err := n.log.Group(uint64(id))
			if err != nil {
				return err
			}
			f.replicas = append(f.replicas, &replica{node: n, log: g})
		}
	}
	joining := func(r *replica) bool { return slices.Contains(f.def.Joining, r.node.NodeID) }
	// a replica that is still being filled need not be complete
	if slices.ContainsFunc(f.replicas, func(r *replica) bool { return !joining(r) }) {
		f.replicas = slices.DeleteFunc(f.replicas, func(r *replica) bool { return joining(r) && r.log.Close() == nil })
	}
	switch {
	case len(f.replicas) > 0:
	case any:
		f.check.Unread(id)
	default:
		f.check.Elsewhere(id, "it is not here, but on "+f.where())
	}
	return nil
}

// damaged notes a fault of a node's replica.
func (f *fragment) damaged(n *node, why string) {
	if len(f.nodes) > 1 {
		why = "node " + f.name(n.NodeID) + ": " + why
	}
	f.check.Damaged(f.def.ID, why)
}

// where names the nodes that have the fragment.
func (f *fragment) where() string {
	var names []string
	for _, id := range f.def.Nodes {
		names = append(names, f.name(id))
	}
	return strings.Join(names, ", ")
}

// verify reports whether the files of a replica are undamaged, so that it can be opened.
func (f *fragment) verify(ctx context.Context, n *node) (whole bool, err error) {
	id, name, bytes := f.def.ID, f.says(n, f.db.FragmentName(f.def)), int64(0)
	_, faults, err := engine.VerifyTables(ctx, n.folder(id),
		func(read int64) { bytes += read; f.Progress(name, bytes, "bytes") })
	if err != nil {
		return false, err
	}
	for _, fault := range faults {
		f.damaged(n, fault.File+": "+text(fault.Err))
	}
	if n.log == nil {
		f.damaged(n, "its rows were not checked, for its log cannot be read")
		return false, nil
	}
	said, fault, err := n.verifyLog(ctx, id)
	if err != nil {
		return false, err
	}
	if fault != nil {
		said = text(fault)
	}
	if err := f.emit("log", name, fault == nil, said); err != nil {
		return false, err
	}
	if len(faults) > 0 || fault != nil {
		f.damaged(n, "its rows were not checked")
	}
	return len(faults) == 0 && fault == nil, nil
}

// rows checks the rows of the replica that is read.
func (f *fragment) rows(ctx context.Context) (complete bool, err error) {
	id, s := f.def.ID, f.read.stopped
	f.check.PreparedTransactions(id, s.PreparedTransactions())
	undecided := s.Undecided()
	for _, u := range undecided {
		f.check.InDoubt(id, u.ID, u.C, u.Coordinator)
	}
	view := &counted{Reader: s.View(), tell: func(n int64) { f.Progress(f.db.FragmentName(f.def), n, "keys") }}
	err = f.check.Fragment(ctx, &verify.Fragment{
		ID: id, View: view, Dropping: f.read.dropping, Group: counts.GroupBuckets,
		Exact: counts.ExactBytes, Moved: owned(s.Ownership()), Added: f.def.Added, Alone: true,
		Remapped: func() bool { return !f.alone || len(f.view.Moves(f.db.OID)) > 0 },
		Stats:    func(context.Context) ([]verify.Stat, error) { return stats(s.Stats()), nil },
		Recount: func(ctx context.Context, x verify.Stat) (int64, int64, error) {
			return recount(ctx, s.View(), x)
		},
	})
	return len(undecided) == 0 && len(f.def.Nodes) == 1, err
}

func owned(list []storage.OwnedRange) []verify.Owned {
	out := make([]verify.Owned, len(list))
	for i, m := range list {
		out[i] = verify.Owned{
			Interval: m.BucketRange, Owned: m.State == storage.Owned,
			Has:     m.State == storage.Owned || m.State == storage.Fenced,
			Leaving: m.State == storage.Fenced || m.State == storage.Gone, Generation: m.Generation,
		}
	}
	return out
}

func stats(list []counts.Range) []verify.Stat {
	out := make([]verify.Stat, len(list))
	for i, s := range list {
		out[i] = verify.Stat{Table: s.Table, From: s.From, To: s.To, Documents: s.Documents, Bytes: s.Bytes}
	}
	return out
}

func recount(ctx context.Context, view exec.Reader, s verify.Stat) (documents, bytes int64, err error) {
	err = view.Scan(ctx, keyspace.BucketSpan(s.Table, s.From, s.To), false, func(key, value []byte) error {
		documents++
		bytes += int64(len(key) + len(value))
		return nil
	})
	return documents, bytes, err
}

// counted reports how many keys scans have read.
type counted struct {
	exec.Reader
	n    int64
	tell func(n int64)
}

// tellEvery is the number of keys between two reports.
const tellEvery = 4096

// Scan implements exec.Reader.
func (c *counted) Scan(ctx context.Context, span txn.Span, reverse bool, fn func(key, value []byte) error) error {
	return c.Reader.Scan(ctx, span, reverse, func(key, value []byte) error {
		if c.n++; c.n%tellEvery == 0 {
			c.tell(c.n)
		}
		return fn(key, value)
	})
}
