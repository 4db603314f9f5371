package recovery

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/raftlog"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Node is a stopped node.
type Node struct {
	Data       string // the data directory
	CatalogDir string
	Dir        string // the directory of the fragments
	LogDir     string
	Number     uint32
	Logger     *slog.Logger
}

// Remnant is a replica that this node has of a group.
type Remnant struct {
	Fragment txn.FragmentID // txn.CatalogFragment is the catalog
	Voters   []uint32
	Last     uint64    // index of its last entry
	At       time.Time // time of that entry; zero: not known
	Lost     bool      // most voters are among the lost
}

// Look lists the groups of this node, and reports which of them lose their majority with some
// nodes.
func (n *Node) Look(lost []uint32) ([]Remnant, error) {
	var out []Remnant
	definitions, err := raftgroup.Look(n.catalog())
	if err != nil {
		return nil, err
	}
	out = append(out, remnant(txn.CatalogFragment, definitions, lost))
	err = n.each(func(cfg storage.Config) error {
		got, err := storage.Remains(cfg)
		if err == nil {
			out = append(out, remnant(cfg.Fragment, got, lost))
		}
		return err
	})
	return out, err
}

// Recover makes this node's replicas of fragments, or of the catalog (txn.CatalogFragment), the only
// members of their groups. The lost nodes are never admitted again. That is on disk first, because
// with their votes the group would continue as it was.
func (n *Node) Recover(groups []txn.FragmentID, lost []uint32) error {
	if err := catalog.DeclareLost(n.Data, lost); err != nil {
		return err
	}
	if slices.Contains(groups, txn.CatalogFragment) {
		if err := raftgroup.UnsafeRecover(n.catalog()); err != nil {
			return err
		}
	}
	return n.each(func(cfg storage.Config) error {
		if !slices.Contains(groups, cfg.Fragment) {
			return nil
		}
		return storage.UnsafeRecover(cfg)
	})
}

func remnant(id txn.FragmentID, is raftgroup.Remains, lost []uint32) Remnant {
	out := Remnant{Fragment: id, Last: is.Last, At: is.At}
	gone := 0
	for _, s := range is.Members {
		if s.Suffrage != raft.Voter {
			continue
		}
		voter, _ := strconv.ParseUint(string(s.ID), 10, 32) // 0: a cluster of one node that never had numbers
		out.Voters = append(out.Voters, uint32(voter))
		if slices.Contains(lost, uint32(voter)) {
			gone++
		}
	}
	out.Lost = gone > 0 && 2*(len(out.Voters)-gone) <= len(out.Voters)
	return out
}

func (n *Node) id() raft.ServerID { return raft.ServerID(strconv.FormatUint(uint64(n.Number), 10)) }

func (n *Node) catalog() raftgroup.Options {
	return raftgroup.Options{Dir: n.CatalogDir, Name: "catalog", ID: n.id(), Logger: n.Logger}
}

// each calls fn with the replicas that are here.
func (n *Node) each(fn func(storage.Config) error) error {
	log, err := raftlog.Open(raftlog.Options{Dir: n.LogDir, Logger: n.Logger})
	if err != nil {
		return err
	}
	for _, g := range log.Groups() {
		dir := filepath.Join(n.Dir, strconv.FormatUint(g, 10))
		if _, serr := os.Stat(dir); errors.Is(serr, os.ErrNotExist) {
			continue // it was dropped
		}
		if err = fn(storage.Config{Dir: dir, Fragment: txn.FragmentID(g),
			Group: storage.GroupConfig{Node: n.id(), Device: log}, Logger: n.Logger}); err != nil {
			err = fmt.Errorf("fragment %d: %w", g, err)
			break
		}
	}
	return errors.Join(err, log.Close())
}
