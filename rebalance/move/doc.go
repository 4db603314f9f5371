// Package move drives the moves of buckets: the jobs of the catalog whose targets are led by this node (docs/resharding.md).
//
// A job says which buckets are to be in which fragment; what is left to do is in the bucket map, so a job never forgets anything and does nothing
// twice. It goes by steps of some MiB, each a move of its own to the fragments with a number of its own:
//
//	catalog: running   target: receive   source: read at T1 → target: carry   (T1, T2] …   source: fence at F, (T, F] → carry
//	catalog: flipped (the map too, as one)   target: own, source: gone   source: clean   catalog: done
//
// Writers wait from the proposal of the fence until the source is told of the flip: for two rounds of the log, the fence's (or, where there is something left to
// carry, the last batch's) and the flip's. The fence goes into the log while what is left is read and carried; after the flip, source and target act upon
// gone and own as soon as they are told, and the log follows. What is counted as blocked is that time, as the source's leader has it.
//
// Before the fence the source waits for a moment at which nothing is prepared in the ranges, at last with a gate closed that keeps the next transactions from
// being prepared there; where that was too short nothing was fenced, and the next time it lasts longer.
//
// A step that cannot flip (something is prepared in the ranges, its fence was lifted, definitions came between, the source has another leader) goes on with what
// the target has: by the same number before it was fenced, by another one after (again.go).
//
// A driver that finds a step which is not its own undoes it (catalog: aborted; then source:
// unfence, target: abandon; catalog: done), or, if it has flipped, completes it. The source's
// leader undoes a fence that stands for longer than a second in the same way (watch.go), so writes
// never wait longer for a driver that is gone, unless the catalog has no majority: without one no
// fence is begun.
//
// A job that has segments of a range table take the place of others (catalog.Resegment) is a move too, of one step, in most cases within a fragment: what is
// read of the old buckets is carried with the names of the new ones in the keys of its rows. Old and new are different numbers, so the source's ownership and the
// target's do not meet in one log, and the flip changes map and definition as one.
//
// What holds a step up (a transaction that is prepared, an index being built, other moves, foreground statements that suffer) is written into the
// job, for sherd.moves.
//
// Invariants:
//
//	M1  At no instant do two fragments accept writes for a bucket; outside of a fence exactly
//	    one does.
//	M2  A read at any T sees each document exactly once.
//	M3  A step begins a fence only while it is running in a view of the catalog that was
//	    current after the last round of catching up.
//	M4  A source is told to lift a fence only after the catalog says that the step was
//	    aborted; the source is notified that ranges are gone, and the target that it owns
//	    them, only after the flip.
//	M5  Two drivers of one job do no harm: each change of the catalog is conditional on the
//	    step's number, and each step of the fragments is void if it is out of turn.
//	M6  The F of the flip is that of the fence in force and of the last read, both of one
//	    leader in one term; the target owns at once only if the driver itself has copied up to
//	    that F through the replica that leads.
//	M7  A source reads, fences and cleans only if its view of the catalog holds every global
//	    index of which it may have entries; the flip is conditional on all tables that have
//	    one.
//	M8  No entry of a local index arrives with a version below the watermark that the target
//	    had when it began to ingest: the deletion of entries that were swept there
//	    (storage.Replica.Sweep) is below it. The first read goes at least as far as that
//	    watermark, so nothing older arrives after it.
//
// It never decides what should move, and keeps nothing that a crash would lose.
//
// Limits: while nodes of different releases are together, a source of one before Cut answers that the step is void, and it is tried again; a bucket moves in one step, however large; a step is read and sent again from its start
// where its move is paused, where its target has another leader, and where it could not flip within two minutes.
package move
