package raftgroup

import "github.com/hashicorp/raft"

// dropReplaced removes a log in place of which a snapshot has come. Raft's library does that when the state machine has taken the snapshot, which may be
// minutes after it was kept: who is killed in between has both. Nothing can follow such a log, whose last entry lies before those that come next, so
// the group would stay as it is for ever; and a state machine that reads it again would not find what the snapshot covers.
//
// A snapshot that was made here is of entries that are in the log, or were.
func dropReplaced(log raft.LogStore, snaps raft.SnapshotStore) error {
	metas, err := snaps.List()
	if err != nil || len(metas) == 0 {
		return diskError(err)
	}
	newest := metas[0]
	first, err := log.FirstIndex()
	if err != nil {
		return diskError(err)
	}
	last, err := log.LastIndex()
	if err != nil || last == 0 || first > newest.Index {
		return diskError(err)
	}
	if last >= newest.Index {
		var l raft.Log
		if err := log.GetLog(newest.Index, &l); err != nil {
			return diskError(err)
		}
		if l.Term == newest.Term {
			return nil
		}
	}
	return diskError(log.DeleteRange(first, last))
}
