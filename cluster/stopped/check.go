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

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftlog"
	"github.com/sherddb/sherd/sql/verify"
)

// Config says what is checked. All but Progress are required.
type Config struct {
	Dir     *catalog.DataDir // from catalog.ReadDataDir
	Scratch string           // an empty directory
	Release string           // that runs, and the newest version of clusters that it knows (V4)
	Version uint32
	Logger  *slog.Logger
	// Progress is told of a fragment now and then how much of it was read: "bytes" of tables, "keys".
	Progress func(fragment string, n int64, unit string)
}

// checker is a check under way.
type checker struct {
	Config
	catalog *catalog.Stopped
	log     *raftlog.Device // nil: it cannot be read
	emit    verify.Emit
}

// Check reports about the directory, a row for each topic without fault and for each fault. An error says that it could not be checked.
func Check(ctx context.Context, cfg Config, emit verify.Emit) error {
	if cfg.Progress == nil {
		cfg.Progress = func(string, int64, string) {}
	}
	k := &checker{Config: cfg, emit: emit}
	if err := k.readCatalog(); err != nil {
		return err
	}
	if err := k.openLog(); err != nil {
		return err
	}
	if k.log != nil {
		defer k.log.Close()
	}
	if k.catalog.View == nil {
		return k.nameless(ctx)
	}
	for _, d := range slices.SortedFunc(k.catalog.View.Databases(), func(a, b *catalog.Database) int { return strings.Compare(a.Name, b.Name) }) {
		if err := k.database(ctx, d); err != nil {
			return err
		}
	}
	return k.unplaced()
}

func (k *checker) readCatalog() (err error) {
	k.catalog, err = catalog.ReadStopped(catalog.Options{
		Dir: k.Dir.Join("catalog"), ID: raft.ServerID(strconv.FormatUint(uint64(k.Dir.NodeID), 10)), Logger: k.Logger,
	}, filepath.Join(k.Scratch, "catalog"))
	if err != nil {
		return err
	}
	c := k.catalog
	if c.View != nil {
		if at := c.View.Cluster().Format; at > k.Version {
			return fmt.Errorf("the cluster of this directory is at version %d, and this release, Sherd %s, knows versions up to %d: check it with the newer release", at, k.Release, k.Version)
		}
	}
	for _, err := range c.Damage {
		if err := k.emit("catalog", "catalog", false, text(err)); err != nil {
			return err
		}
	}
	if len(c.Damage) > 0 {
		return nil
	}
	detail := fmt.Sprintf("%d entries", c.Entries)
	if c.Snapshot > 0 {
		detail = fmt.Sprintf("a snapshot of entry %d, and %d entries", c.Snapshot, c.Entries)
	}
	if c.Last > c.Applied {
		detail += fmt.Sprintf("; the last %d may not have been decided and were left out", c.Last-c.Applied)
	}
	return k.emit("catalog", "catalog", true, detail)
}

func (k *checker) openLog() (err error) {
	dir := k.Dir.Join("log")
	if _, serr := os.Stat(dir); errors.Is(serr, fs.ErrNotExist) {
		return k.emit("log", "log", false, "the directory log is missing")
	}
	if k.log, err = raftlog.Open(raftlog.Options{Dir: dir, Logger: k.Logger, ReadOnly: true}); err != nil {
		k.log = nil
		return k.emit("log", "log", false, text(err)+"; what is in the log alone was not checked")
	}
	return nil
}

// database reports about one database.
func (k *checker) database(ctx context.Context, d *catalog.Database) error {
	c, err := verify.New(k.catalog.View, d)
	if err != nil {
		return k.emit("catalog", d.Name, false, text(err))
	}
	if !k.catalog.Alone {
		c.MayLag()
	}
	whole := k.catalog.Alone
	for i := range d.Fragments {
		f := &fragment{checker: k, check: c, db: d, def: &d.Fragments[i]}
		complete, err := f.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", d.FragmentName(f.def), err)
		}
		whole = whole && complete
	}
	if !whole {
		c.Apart("some of these are not here, may be behind others, or have transactions in doubt")
	}
	return c.Report(func(check, subject string, ok bool, detail string) error {
		switch check {
		case "rows", "placement", "index", "statistics":
			subject = d.Name + "." + subject
		}
		return k.emit(check, subject, ok, detail)
	})
}

// unplaced names replicas that no database has here.
func (k *checker) unplaced() error {
	return k.folders(func(id uint32) error {
		if _, f := k.catalog.View.Fragment(id); f != nil && slices.Contains(f.Nodes, k.Dir.NodeID) {
			return nil
		}
		return k.emit("replicas", fmt.Sprintf("fragment %d", id), true, "a replica that the catalog does not place here; it was not checked")
	})
}

// nameless checks what can be checked without definitions.
func (k *checker) nameless(ctx context.Context) error {
	return k.folders(func(id uint32) error {
		name := fmt.Sprintf("fragment %d", id)
		bytes := int64(0)
		n, faults, err := k.tables(ctx, id, func(read int64) { bytes += read; k.Progress(name, bytes, "bytes") })
		if err != nil {
			return err
		}
		for _, fault := range faults {
			if err := k.emit("storage", name, false, fault.File+": "+text(fault.Err)); err != nil {
				return err
			}
		}
		if len(faults) == 0 {
			err = k.emit("storage", name, true, fmt.Sprintf("%d tables; rows were not checked, for the catalog cannot be read", n))
		}
		if k.log == nil || err != nil {
			return err
		}
		said, fault, err := k.verifyLog(ctx, id)
		if err != nil {
			return err
		}
		if fault != nil {
			said = text(fault)
		}
		return k.emit("log", name, fault == nil, said)
	})
}

// folders calls f with the numbers of the replicas that are on this disk.
func (k *checker) folders(f func(id uint32) error) error {
	names, err := os.ReadDir(k.Dir.Join("fragments"))
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

// text gives an error as a detail.
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
