package raftgroup

import "github.com/hashicorp/raft"

// nameKey is where the stable store has the id that this server has in the log's configurations.
var nameKey = []byte("SherdServerID")

// rename lets the only member of a group, which was known by the group's name, be known by its node's number from now on: a configuration is
// appended to its log. Nobody else has a say in a group of one, so what it appends is committed.
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
	now, err := raft.GetConfiguration(conf, nothing{}, store, g.log, snaps, trans)
	if err != nil {
		return err
	}
	if len(now.Servers) != 1 || now.Servers[0].ID != raft.ServerID(g.name) {
		return nil
	}
	l, err := (&still{log: g.log, snaps: snaps}).newest()
	if err != nil {
		return err
	}
	servers := []raft.Server{{Suffrage: raft.Voter, ID: g.opts.ID, Address: trans.LocalAddr()}}
	return diskError(store.StoreLog(&raft.Log{
		Index: l.Index + 1, Term: l.Term, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(raft.Configuration{Servers: servers}),
	}))
}

// nothing stands for the state machine where only the configuration is asked for.
type nothing struct{ raft.FSM }
