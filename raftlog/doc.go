// Package raftlog keeps the Raft logs of all groups of a node in one append-only device, so that
// they share their fsyncs: entries that several groups append while a sync runs are written and
// synced together in the next round.
//
//	group 1 ─ StoreLogs ─┐                         ┌─ segment 7 (active) ─┐
//	group 2 ─ StoreLogs ─┼─▶ queue ─▶ round: one   │ frame 41: 1:7 1:8 2:3 │
//	group 3 ─ DeleteRange┘            write + sync │ frame 42: 3:≤900 1:9  │ ◀── GetLog reads by position
//	                                               └───────────────────────┘
//
//	dev, err := raftlog.Open(raftlog.Options{Dir: filepath.Join(data, "raft")})
//	g, err := dev.Group(7)       // a raft.LogStore, raft.MonotonicLogStore and raft.StableStore
//	err = g.Close()              // the log stays
//	err = dev.Forget(7)          // the log is deleted
//
// With Options.ReadOnly the device reads what another process has written, and changes no file.
//
// The device knows Raft's entries as bytes with an index and a term, and does not interpret them.
// It keeps no cache of entries: Raft reads the tail, which is in the page cache.
//
// # Format
//
// A segment file is a header and frames. One round of writing makes one frame: a header and
// records. All numbers are little-endian or uvarints.
//
//	segment header  magic(8) format(1) 0(7) number(8) first round(8) salt(8) 0(12) crc(4)            56 bytes
//	frame header    magic(4) format(1) 0(3) round(8) length(4) records(4) crc(4) 0(4)                32 bytes, at multiples of 8
//	record          length(4) crc(4) kind(1) group …
//	  1 append      index term type(1) time(1 + n) extensions(n) data
//	  2 suffix      index: deletes this entry and all after it
//	  3 prefix      index: deletes this entry and all before it
//	  4 set         key(n) value: a value of the stable store
//	  5 forget      deletes the group
//
// A record's crc covers its body. A frame's crc covers the segment's salt, the frame's own header
// and the crcs of its records. A frame that is left in a reused file therefore never passes for a
// frame of the file's new segment. Format bytes are 1; golden files fix the format.
//
// # Invariants
//
//   - L1 A call that changes a log returns nil only after the round that contains it is on disk.
//     One round is written at a time, and the next one only after its sync.
//   - L2 Therefore only the last frame of the last segment can be torn, and no call that it
//     contains has returned: opening cuts it off. Damage before it is XX001 with the file's name: a
//     frame of a later round than the damaged one follows, or the next segment begins with a later
//     round.
//   - L3 Opening puts what it finds on disk before it reports any of it: it writes the last frame
//     and its segment's header once more, and syncs the directory. A sync alone is not enough:
//     after a failed write Linux keeps the page and considers it written. If this fails, opening
//     fails.
//   - L4 Segments are removed in order, the oldest first, so a record that deletes outlives what it
//     deletes. If little in a segment is still needed, that is appended again and the segment is
//     emptied.
//   - L5 Calls that change a group are carried out one at a time; its entries have no gap.
//   - L6 A round that finds no room (ENOSPC) is refused as a whole and is not on disk; the device
//     continues. After any other write error it is unknown what is on disk: this call and all later
//     ones return ErrUnknown until the device is opened again, and its owner is notified
//     (Options.Failed). If a segment cannot be begun, it is removed, and the request that needed it
//     is refused as a whole.
//   - L7 A power loss may undo a file's creation, renaming or removal until the directory is
//     synced. Therefore no frame is written to a segment before its name is on disk, and a retired
//     segment keeps its header until its new name is on disk. A spare file that holds frames of a
//     missing segment is XX001, and is never removed.
//
// # Limits
//
// An entry may have up to 1 GiB; a segment is made larger for one that does not fit. A new file is
// filled with zeros in the background before it is used, and an emptied one is used again: to
// overwrite blocks costs about half of what it costs to write to blocks that were only reserved. At
// most two such files are kept ready, and none while the disk has less room than two segments take.
// Segments are small then, and a round that needs one which would leave less than 32 MiB is refused
// (ENOSPC, L6). Files are written by system calls, never through memory maps, and their blocks are
// reserved before. The position of every entry, 16 bytes each, is held in memory.
package raftlog
