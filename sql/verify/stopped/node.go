package stopped

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/raftlog"
	"github.com/sherddb/sherd/storage"
)

// node is a node whose directory is here.
type node struct {
	*catalog.DataDir
	scratch string
	catalog *catalog.Stopped
	log     *raftlog.Device // nil: it cannot be read
}

// readCatalogs reads the catalogs of all nodes; the newest counts.
func (k *checker) readCatalogs() error {
	var newest *node
	for _, n := range k.nodes {
		c, err := catalog.ReadStopped(catalog.Options{
			Dir: n.Join("catalog"), ID: raft.ServerID(strconv.FormatUint(uint64(n.NodeID), 10)), Logger: k.Logger,
		}, filepath.Join(n.scratch, "catalog"))
		if err != nil {
			return err
		}
		if n.catalog = c; c.View == nil {
			continue
		}
		if at := c.View.Cluster().Format; at > k.Version {
			return fmt.Errorf("the cluster of this directory is at version %d, and this release, Sherd %s, "+
				"knows versions up to %d: check it with the newer release", at, k.Release, k.Version)
		}
		if newest == nil || c.Applied > newest.catalog.Applied {
			newest = n
		}
	}
	if newest != nil {
		k.view, k.alone = newest.catalog.View, newest.catalog.Alone
	}
	for _, n := range k.nodes {
		if err := k.sayCatalog(n, n == newest); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) sayCatalog(n *node, newest bool) error {
	c, subject := n.catalog, k.says(n, "catalog")
	for _, err := range c.Damage {
		if err := k.emit("catalog", subject, false, text(err)); err != nil {
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
	if newest && len(k.nodes) > 1 {
		detail += "; what it says counts here"
	}
	return k.emit("catalog", subject, true, detail)
}

func (k *checker) openLog(n *node) (err error) {
	dir := n.Join("log")
	if _, serr := os.Stat(dir); errors.Is(serr, fs.ErrNotExist) {
		return k.emit("log", k.says(n, "log"), false, "the directory log is missing")
	}
	if n.log, err = raftlog.Open(raftlog.Options{Dir: dir, Logger: k.Logger, ReadOnly: true}); err != nil {
		n.log = nil
		return k.emit("log", k.says(n, "log"), false, text(err)+"; what is in the log alone was not checked")
	}
	return nil
}

func (n *node) folder(id uint32) string {
	return n.Join("fragments", strconv.FormatUint(uint64(id), 10))
}

// verifyLog reads a fragment's log, and returns a summary of its entries, or its fault.
func (n *node) verifyLog(ctx context.Context, id uint32) (said string, fault, err error) {
	g, err := n.log.Group(uint64(id))
	if err != nil {
		return "", nil, err
	}
	defer g.Close()
	entries, fault := storage.VerifyLog(ctx, g)
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	return fmt.Sprintf("%d entries", entries), fault, nil
}
