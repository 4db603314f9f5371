package stopped

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/storage/engine"
)

// Config says which directories are checked. All but Progress are required.
type Config struct {
	Dirs    []*catalog.DataDir // from catalog.ReadDataDir, of nodes of one cluster
	Scratch string             // an empty directory
	Release string             // of this process, and the newest cluster version that it knows (V4)
	Version uint32
	Logger  *slog.Logger
	// Progress is called now and then with how much of a fragment was read: "bytes" of tables, or
	// "keys".
	Progress func(fragment string, n int64, unit string)
}

// checker is a check under way.
type checker struct {
	Config
	nodes []*node
	view  *catalog.View // the newest view of the nodes; nil: none can be read
	alone bool          // no other node has a vote, so no newer catalog exists
	emit  verify.Emit
}

// Check emits a row for each topic without fault and for each fault. It returns an error if the
// directories could not be checked.
func Check(ctx context.Context, cfg Config, emit verify.Emit) error {
	if cfg.Progress == nil {
		cfg.Progress = func(string, int64, string) {}
	}
	k := &checker{Config: cfg, emit: emit}
	if err := k.oneCluster(); err != nil {
		return err
	}
	defer k.close()
	if err := k.readCatalogs(); err != nil {
		return err
	}
	for _, n := range k.nodes {
		if err := k.openLog(n); err != nil {
			return err
		}
	}
	if k.view == nil {
		return k.nameless(ctx)
	}
	for _, d := range slices.SortedFunc(k.view.Databases(),
		func(a, b *catalog.Database) int { return strings.Compare(a.Name, b.Name) }) {
		if err := k.database(ctx, d); err != nil {
			return err
		}
	}
	return k.unplaced()
}

// oneCluster returns an error unless the directories are of different nodes of one cluster.
func (k *checker) oneCluster() error {
	for i, d := range k.Dirs {
		for _, other := range k.Dirs[:i] {
			switch {
			case d.ClusterID != other.ClusterID:
				return fmt.Errorf("%s and %s are of different clusters", other.Path, d.Path)
			case d.NodeID == other.NodeID:
				return fmt.Errorf("%s and %s are of the same node", other.Path, d.Path)
			}
		}
		k.nodes = append(k.nodes, &node{DataDir: d,
			scratch: filepath.Join(k.Scratch, strconv.FormatUint(uint64(d.NodeID), 10))})
	}
	return nil
}

func (k *checker) close() {
	for _, n := range k.nodes {
		if n.log != nil {
			n.log.Close()
		}
	}
}

// says returns the subject of a row about one node.
func (k *checker) says(n *node, subject string) string {
	if len(k.nodes) == 1 {
		return subject
	}
	return k.name(n.NodeID) + " " + subject
}

// name returns the name of a node.
func (k *checker) name(id uint32) string {
	if k.view != nil {
		if n := k.view.Node(id); n != nil {
			return n.Name
		}
	}
	return fmt.Sprint("node ", id)
}

// node returns the node with a number, nil if its directory is not here.
func (k *checker) node(id uint32) *node {
	if i := slices.IndexFunc(k.nodes, func(n *node) bool { return n.NodeID == id }); i >= 0 {
		return k.nodes[i]
	}
	return nil
}

// database checks one database.
func (k *checker) database(ctx context.Context, d *catalog.Database) (err error) {
	c, err := verify.New(k.view, d)
	if err != nil {
		return k.emit("catalog", d.Name, false, text(err))
	}
	if !k.alone {
		c.MayLag()
	}
	whole := k.alone
	var open []*fragment
	defer func() {
		for _, f := range open {
			err = errors.Join(err, f.close())
		}
	}()
	for i := range d.Fragments {
		f := &fragment{checker: k, check: c, db: d, def: &d.Fragments[i]}
		open = append(open, f)
		complete, err := f.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", d.FragmentName(f.def), err)
		}
		whole = whole && complete
	}
	if !whole {
		c.Apart("some of these are not here, may be behind others, or have transactions in doubt")
	}
	if err := k.references(ctx, c, d, open); err != nil {
		return err
	}
	return c.Report(func(check, subject string, ok bool, detail string) error {
		switch check {
		case "rows", "placement", "index", "statistics", "foreign key", "former ids", "split documents":
			subject = d.Name + "." + subject
		}
		return k.emit(check, subject, ok, detail)
	})
}

// unplaced reports replicas that no database places on their node.
func (k *checker) unplaced() error {
	for _, n := range k.nodes {
		err := n.folders(func(id uint32) error {
			if _, f := k.view.Fragment(id); f != nil && slices.Contains(f.Nodes, n.NodeID) {
				return nil
			}
			return k.emit("replicas", k.says(n, fmt.Sprintf("fragment %d", id)),
				true, "a replica that the catalog does not place here; it was not checked")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// nameless makes the checks that need no definitions.
func (k *checker) nameless(ctx context.Context) error {
	for _, n := range k.nodes {
		if err := n.folders(func(id uint32) error { return k.filesOf(ctx, n, id) }); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) filesOf(ctx context.Context, n *node, id uint32) error {
	name := k.says(n, fmt.Sprintf("fragment %d", id))
	bytes := int64(0)
	tables, faults, err := engine.VerifyTables(ctx, n.folder(id),
		func(read int64) { bytes += read; k.Progress(name, bytes, "bytes") })
	if err != nil {
		return err
	}
	for _, fault := range faults {
		if err := k.emit("storage", name, false, fault.File+": "+text(fault.Err)); err != nil {
			return err
		}
	}
	if len(faults) == 0 {
		err = k.emit("storage", name, true, fmt.Sprintf("%d tables; rows were not checked, "+
			"for the catalog cannot be read", tables))
	}
	if n.log == nil || err != nil {
		return err
	}
	said, fault, err := n.verifyLog(ctx, id)
	if err != nil {
		return err
	}
	if fault != nil {
		said = text(fault)
	}
	return k.emit("log", name, fault == nil, said)
}

// folders calls f with the numbers of the replicas that are on this disk.
func (n *node) folders(f func(id uint32) error) error {
	names, err := os.ReadDir(n.Join("fragments"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var ids []uint32
	for _, n := range names {
		if id, err := strconv.ParseUint(n.Name(), 10, 32); err == nil && n.IsDir() {
			ids = append(ids, uint32(id))
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		if err := f(id); err != nil {
			return err
		}
	}
	return nil
}

// text returns the text of an error for a detail.
func text(err error) string {
	var pg *pgerr.Error
	if errors.As(err, &pg) {
		if pg.Detail != "" {
			return pg.Message + ": " + pg.Detail
		}
		return pg.Message
	}
	return err.Error()
}
