// Package move drives the moves of buckets: the jobs of the catalog whose targets are led by this
// node (docs/resharding.md).
//
// A job names the buckets to move and their target. The bucket map shows what is left to do, so a
// job forgets nothing and does nothing twice. It proceeds in steps of some MiB. To the fragments
// each step is a move of its own, with its own number:
//
//	catalog: running
//	target:  begin to ingest
//	source:  read at T1             → target: ingest
//	source:  read (T1, T2] …        → target: ingest
//	source:  fence at F, (T, F]     → target: ingest
//	catalog: flipped, with the bucket map in the same entry
//	target:  own, source: gone
//	source:  clean
//	catalog: done
//
// Writers wait from the proposal of the fence until the source is notified of the flip. That takes
// two rounds of the log: that of the fence (or of the last batch, if something is left to copy) and
// that of the flip. The fence goes into the log while the rest is read and copied. After the flip,
// source and target act on "gone" and "own" as soon as they are notified, and the log follows. The
// blocked time that a move reports is this wait, as the leader of the source measures it.
//
// Before the fence the source waits for a moment at which no transaction is prepared in the ranges.
// At the end of that wait it closes a gate that keeps further transactions from preparing there. If
// the wait was too short, nothing is fenced, and the next one is longer.
//
// A step cannot flip if a transaction is prepared in the ranges, its fence was lifted, definitions
// changed meanwhile, or the source has another leader. It then continues with what the target has:
// under the same number if it was not fenced yet, under another number otherwise (again.go).
//
// A driver that finds a step which is not its own undoes it (catalog: aborted; then source:
// unfence, target: abandon; catalog: done), or, if it has flipped, completes it. The source's
// leader undoes a fence that stands for longer than a second in the same way (watch.go), so writes
// never wait longer for a driver that is gone, unless the catalog has no majority: without one no
// fence is begun.
//
// A job that replaces segments of a range table by others (catalog.Resegment) is a move too. It has
// one step, in most cases within a fragment: rows are read from the old buckets and copied with the
// new buckets in their keys. Old and new buckets have different numbers, so the ownership of source
// and target do not meet in one log. The flip changes the bucket map and the definition in one
// entry.
//
// The job names what a step waits for, for sherd.moves: a prepared transaction, an index that is
// being built, other moves, or foreground statements that have become slow.
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
//	    index that it may have entries of; the flip is conditional on all tables that have a
//	    global index.
//	M8  No entry of a local index arrives with a version below the watermark that the target
//	    had when it began to ingest: the deletion of entries that were swept there
//	    (storage.Mover.Sweep) is below it. The first read goes at least as far as that
//	    watermark, so nothing older arrives after it.
//
// It never decides what should move, and keeps nothing that a crash would lose.
//
// Limits: while nodes run different releases, a source whose release does not know Cut answers that
// the step is void, and the step is tried again. A bucket moves in one step, however large it is. A
// step is read and sent again from its start if its move was paused, if its target has another
// leader, or if it could not flip within two minutes.
package move
