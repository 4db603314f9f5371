package stopped

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// fragment is one being checked.
type fragment struct {
	*checker
	check *verify.Check
	db    *catalog.Database
	def   *catalog.Fragment
}

func (k *checker) folder(id uint32) string {
	return k.Dir.Join("fragments", strconv.FormatUint(uint64(id), 10))
}

func (k *checker) tables(ctx context.Context, id uint32, read func(int64)) (int, []storage.TableFault, error) {
	return storage.VerifyTables(ctx, k.folder(id), read)
}

// verifyLog reads a fragment's log: what there is, or what is wrong with it.
func (k *checker) verifyLog(ctx context.Context, id uint32) (said string, fault, err error) {
	g, err := k.log.Group(uint64(id))
	if err != nil {
		return "", nil, err
	}
	defer g.Close()
	n, fault := storage.VerifyLog(ctx, g)
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	return fmt.Sprintf("%d entries", n), fault, nil
}

// run checks the fragment; complete tells whether all that there is of it was seen.
func (f *fragment) run(ctx context.Context) (complete bool, err error) {
	if !slices.Contains(f.def.Nodes, f.Dir.NodeID) {
		f.check.Elsewhere(f.def.ID, "not on this node: "+f.where())
		return false, nil
	}
	if _, err := os.Stat(f.folder(f.def.ID)); errors.Is(err, fs.ErrNotExist) {
		if slices.Contains(f.def.Joining, f.Dir.NodeID) || slices.Contains(f.def.Leaving, f.Dir.NodeID) {
			f.check.Elsewhere(f.def.ID, "on its way: "+f.where())
		} else {
			f.check.Unreadable(f.def.ID, fmt.Sprintf("the replica is missing: there is no directory fragments/%d", f.def.ID))
		}
		return false, nil
	}
	whole, err := f.verify(ctx)
	if err != nil || !whole {
		return false, err
	}
	return f.read(ctx)
}

// where names the nodes that have the fragment.
func (f *fragment) where() string {
	var names []string
	for _, id := range f.def.Nodes {
		name := fmt.Sprint(id)
		if n := f.catalog.View.Node(id); n != nil {
			name = n.Name
		}
		names = append(names, name)
	}
	return "its nodes are " + strings.Join(names, ", ")
}

// verify looks whether the files are whole, so that the replica can be opened.
func (f *fragment) verify(ctx context.Context) (whole bool, err error) {
	id, name, bytes := f.def.ID, f.db.FragmentName(f.def), int64(0)
	_, faults, err := f.tables(ctx, id, func(read int64) { bytes += read; f.Progress(name, bytes, "bytes") })
	if err != nil {
		return false, err
	}
	for _, fault := range faults {
		f.check.Unreadable(id, fault.File+": "+text(fault.Err))
	}
	if f.log == nil {
		f.check.Unreadable(id, "its rows were not checked, for its log cannot be read")
		return false, nil
	}
	said, fault, err := f.verifyLog(ctx, id)
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
		f.check.Unreadable(id, "its rows were not checked")
	}
	return len(faults) == 0 && fault == nil, nil
}

// read has the rows checked.
func (f *fragment) read(ctx context.Context) (complete bool, err error) {
	id := f.def.ID
	g, err := f.log.Group(uint64(id))
	if err != nil {
		return false, err
	}
	defer g.Close()
	scratch := filepath.Join(f.Scratch, strconv.FormatUint(uint64(id), 10))
	defer os.RemoveAll(scratch)
	s, err := storage.OpenStopped(storage.Config{
		Dir: f.folder(id), Fragment: id, Logger: f.Logger, Added: f.def.Added,
		Global: func(table, index uint32) bool { return f.catalog.View.GlobalIndex(table, index) },
	}, g, scratch)
	if err != nil {
		f.check.Unreadable(id, text(err))
		return false, nil
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	f.check.Held(id, s.Held())
	undecided := s.Undecided()
	for _, u := range undecided {
		f.check.InDoubt(id, u.ID, u.C, u.Anchor)
	}
	dropping, err := s.Dropping()
	if err != nil {
		f.check.Unreadable(id, text(err))
		return false, nil
	}
	view := &counted{Reader: s.View(), tell: func(n int64) { f.Progress(f.db.FragmentName(f.def), n, "keys") }}
	err = f.check.Fragment(ctx, &verify.Fragment{
		ID: id, View: view, Dropping: dropping, Group: storage.StatBuckets, Moved: owned(s.Ownership()), Added: f.def.Added, Alone: true,
		Remapped: func() bool { return !f.catalog.Alone || len(f.catalog.View.Moves(f.db.OID)) > 0 },
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
			Interval: m.BucketRange, Owned: m.State == storage.Owned, Has: m.State == storage.Owned || m.State == storage.Fenced,
			Leaving: m.State == storage.Fenced || m.State == storage.Gone, Arrival: m.Arrival,
		}
	}
	return out
}

func stats(list []storage.BucketStat) []verify.Stat {
	out := make([]verify.Stat, len(list))
	for i, s := range list {
		out[i] = verify.Stat{Table: s.Table, From: s.From, To: s.To, Documents: s.Documents, Bytes: s.Bytes}
	}
	return out
}

func recount(ctx context.Context, view exec.Reader, s verify.Stat) (documents, bytes int64, err error) {
	err = view.Scan(ctx, storage.BucketSpan(s.Table, s.From, s.To), false, func(key, value []byte) error {
		documents++
		bytes += int64(len(key) + len(value))
		return nil
	})
	return documents, bytes, err
}

// counted tells how many keys scans have come by.
type counted struct {
	exec.Reader
	n    int64
	tell func(n int64)
}

// tellEvery is after how many keys it does.
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
