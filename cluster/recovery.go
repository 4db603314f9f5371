package cluster

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

// Recovery is unsafe recovery of a stopped node's replicas when the majority of a group is lost for
// good: what that majority had acknowledged and this node had not received is lost. The catalog is
// recovered on one node only; each fragment too, on the node whose replica has the most.
type Recovery struct {
	Data       string // the data directory
	CatalogDir string
	Dir        string // the directory of the fragments, as in Config
	LogDir     string
	Node       uint32
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
func (r *Recovery) Look(lost []uint32) ([]Remnant, error) {
	var out []Remnant
	definitions, err := raftgroup.Look(r.catalog())
	if err != nil {
		return nil, err
	}
	out = append(out, remnant(txn.CatalogFragment, definitions, lost))
	err = r.each(func(cfg storage.Config) error {
		got, err := storage.Remains(cfg)
		if err == nil {
			out = append(out, remnant(cfg.Fragment, got, lost))
		}
		return err
	})
	return out, err
}

// Begin makes this node's replicas of fragments, or of the catalog (txn.CatalogFragment), the only
// members of their groups. The lost nodes are never admitted again. That is on disk first, because
// with their votes the group would continue as it was.
func (r *Recovery) Begin(groups []txn.FragmentID, lost []uint32) error {
	if err := catalog.DeclareLost(r.Data, lost); err != nil {
		return err
	}
	if slices.Contains(groups, txn.CatalogFragment) {
		if err := raftgroup.UnsafeRecover(r.catalog()); err != nil {
			return err
		}
	}
	return r.each(func(cfg storage.Config) error {
		if !slices.Contains(groups, cfg.Fragment) {
			return nil
		}
		return storage.UnsafeRecover(cfg)
	})
}

func remnant(id txn.FragmentID, r raftgroup.Remains, lost []uint32) Remnant {
	out := Remnant{Fragment: id, Last: r.Last, At: r.At}
	gone := 0
	for _, s := range r.Members {
		if s.Suffrage != raft.Voter {
			continue
		}
		n, _ := strconv.ParseUint(string(s.ID), 10, 32) // 0: a cluster of one node that never had numbers
		out.Voters = append(out.Voters, uint32(n))
		if slices.Contains(lost, uint32(n)) {
			gone++
		}
	}
	out.Lost = gone > 0 && 2*(len(out.Voters)-gone) <= len(out.Voters)
	return out
}

func (r *Recovery) id() raft.ServerID { return raft.ServerID(strconv.FormatUint(uint64(r.Node), 10)) }

func (r *Recovery) catalog() raftgroup.Options {
	return raftgroup.Options{Dir: r.CatalogDir, Name: "catalog", ID: r.id(), Logger: r.Logger}
}

// each calls fn with the replicas that are here.
func (r *Recovery) each(fn func(storage.Config) error) error {
	log, err := raftlog.Open(raftlog.Options{Dir: r.LogDir, Logger: r.Logger})
	if err != nil {
		return err
	}
	for _, g := range log.Groups() {
		dir := filepath.Join(r.Dir, strconv.FormatUint(g, 10))
		if _, serr := os.Stat(dir); errors.Is(serr, os.ErrNotExist) {
			continue // it was dropped
		}
		if err = fn(storage.Config{Dir: dir, Fragment: txn.FragmentID(g),
			Group: storage.GroupConfig{Node: r.id(), Device: log}, Logger: r.Logger}); err != nil {
			err = fmt.Errorf("fragment %d: %w", g, err)
			break
		}
	}
	return errors.Join(err, log.Close())
}
