package raftgroup

import "github.com/hashicorp/raft"

// dropReplaced deletes a log that a snapshot from the leader has replaced. Raft's library does this
// when the state machine has restored the snapshot, which may be minutes after the snapshot was
// stored: after a kill in between both exist. No entry can be appended to such a log, because its
// last entry lies before the next ones, so the group would never continue; and a state machine that
// reads the log again would not find what the snapshot covers.
//
// A snapshot that was taken here covers entries that are in the log, or were.
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
