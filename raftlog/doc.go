// Package raftlog keeps the Raft logs of all groups of a node in one append-only device, so that they share their fsyncs: what
// several groups append while a sync runs goes to the disk with the next one, in one write.
//
//	group 1 ─ StoreLogs ─┐                         ┌─ segment 7 (active) ─┐
//	group 2 ─ StoreLogs ─┼─▶ queue ─▶ round: one   │ frame 41: 1:7 1:8 2:3 │
//	group 3 ─ DeleteRange┘            write + sync │ frame 42: 3:≤900 1:9  │ ◀── GetLog reads by position
//	                                               └───────────────────────┘
//
//	dev, err := raftlog.Open(raftlog.Options{Dir: filepath.Join(data, "raft")})
//	g, err := dev.Group(7)       // a raft.LogStore, raft.MonotonicLogStore and raft.StableStore
//	err = g.Close()              // the log stays
//	err = dev.Forget(7)          // the log goes
//
// With Options.ReadOnly it reads what a process has left, without changing a file.
//
// It knows Raft's entries as bytes with an index and a term, and nothing of what they mean. It keeps no cache of entries: the
// tail that is asked for is in the page cache.
//
// # Format
//
// A segment file is a header and frames; a frame is one round of writing: a header and records. All numbers are little-endian
// or uvarints.
//
//	segment header  magic(8) format(1) 0(7) number(8) first round(8) salt(8) 0(12) crc(4)            56 bytes
//	frame header    magic(4) format(1) 0(3) round(8) length(4) records(4) crc(4) 0(4)                32 bytes, at multiples of 8
//	record          length(4) crc(4) kind(1) group …
//	  1 append      index term type(1) time(1 + n) extensions(n) data
//	  2 suffix      index: it and all behind it are gone
//	  3 prefix      index: it and all before it are gone
//	  4 set         key(n) value: a value of the stable store
//	  5 forget      the group is gone
//
// A record's crc covers its body. A frame's covers the segment's salt, its own header and the records' crcs, so that nothing
// left in a file that is used again is taken for a frame of its new life. Format bytes are 1; golden files hold them.
//
// # Invariants
//
//   - L1 A call that changes a log returns nil only after the round that carries it is on disk. One round is written at a time,
//     and the next one only after its sync.
//   - L2 Therefore only the last frame of the last segment can be torn, and a torn one was acknowledged to nobody: opening cuts
//     it. Damage before it is XX001 with the file's name: a frame of a round after the next is found behind it, or the next
//     segment begins with a later round.
//   - L3 What opening finds is put on disk before any of it is reported: the last frame and its segment's header are written once
//     more, and the directory is synced. A sync alone would not do: after a failed write Linux keeps the page and takes it for
//     written. If that fails, opening fails.
//   - L4 Segments leave in order, the oldest first, so a record that deletes outlives what it deletes. One that little is
//     alive in is emptied by appending that again.
//   - L5 A group's calls that change it are carried out one at a time; its entries are without a gap.
//   - L6 A round that finds no room (ENOSPC) is refused as a whole and is not on disk; the device goes on. Any other error of
//     a write leaves open what is on disk: it and all later ones are ErrUnknown until the device is opened again, and its owner
//     is notified (Options.Failed). A segment that cannot be begun is removed, and the request that needed it is refused as a whole.
//   - L7 A power loss may undo a file's creation, renaming or removal until the directory is synced. Therefore no frame is written to
//     a segment before its name is on disk, and a segment that is given up keeps its header until its new name is. A spare file that
//     holds frames of a segment that is missing is XX001, never removed.
//
// # Limits
//
// Entries up to 1 GiB; a segment is made larger for one that does not fit. A new file is filled with zeros in the background
// before it is used, and an emptied one is used again: to overwrite blocks costs about half of what it costs to fill blocks that
// were only reserved. Up to two such files lie ready. The place of every entry, 16 bytes each, is held in memory.
package raftlog
