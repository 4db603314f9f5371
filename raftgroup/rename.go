package raftgroup

import "github.com/hashicorp/raft"

// nameKey is the key in the stable store of the id that this server has in the log's
// configurations.
var nameKey = []byte("SherdServerID")

// rename changes the id of the only member of a group from the group's name to its node's number:
// it appends a configuration to the log. A group of one needs no other vote, so the entry is
// committed.
func (g *Group) rename(store raft.LogStore, snaps raft.SnapshotStore, trans raft.Transport) error {
	id := g.opts.ID
	if g.opts.Transport == nil || id == raft.ServerID(g.name) {
		return nil
	}
	if known, err := g.log.Get(nameKey); err == nil && string(known) == string(id) {
		return nil
	}
	has, err := raft.HasExistingState(store, g.log, snaps)
	if err != nil {
		return diskError(err)
	}
	if has {
		if err := g.renameOnly(store, snaps, trans); err != nil {
			return err
		}
	}
	return diskError(g.log.Set(nameKey, []byte(id)))
}

func (g *Group) renameOnly(store raft.LogStore, snaps raft.SnapshotStore, trans raft.Transport) error {
	conf := g.opts.raftConfig(nil)
	conf.NoSnapshotRestoreOnStart = true
	now, err := raft.GetConfiguration(conf, noFSM{}, store, g.log, snaps, trans)
	if err != nil {
		return err
	}
	if len(now.Servers) != 1 || now.Servers[0].ID != raft.ServerID(g.name) {
		return nil
	}
	l, err := (&stoppedReplica{log: g.log, snaps: snaps}).newest()
	if err != nil {
		return err
	}
	servers := []raft.Server{{Suffrage: raft.Voter, ID: g.opts.ID, Address: trans.LocalAddr()}}
	return diskError(store.StoreLog(&raft.Log{
		Index: l.Index + 1, Term: l.Term, Type: raft.LogConfiguration,
		Data: raft.EncodeConfiguration(raft.Configuration{Servers: servers}),
	}))
}

// noFSM replaces the state machine if only the configuration is read.
type noFSM struct{ raft.FSM }
