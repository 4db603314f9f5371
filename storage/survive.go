package storage

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/marker"
)

// Remains returns what the replica in cfg.Dir has. It must not be open. Only Dir, Fragment, Node
// and Device count.
func Remains(cfg Config) (out raftgroup.Remains, err error) {
	err = closed(cfg, func(o raftgroup.Options) (err error) {
		out, err = raftgroup.Look(o)
		return err
	})
	return out, err
}

// Survive makes the replica in cfg.Dir, which must not be open, the only one of its fragment
// (raftgroup.Survive).
func Survive(cfg Config) error { return closed(cfg, raftgroup.Survive) }

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
