package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
)

// A large write set is installed apart from the applying goroutine, in pieces, so that the entries
// after its commit need not wait. Its entry applies, answers and remembers the commit as usual;
// only the rows come later. Each replica does this on its own: keys and versions follow from the
// log, and it does not matter when they are written, because:
//
//   - a reader or a locker of one row at or above the commit's time reads the row from its piece
//     (install_rows.go). Scans and validations wait for the pieces that may have their rows (T3),
//     which are installed at once (install_wanted.go). This wait is for no other transaction, so
//     it ends. Drops, moves and streams wait for all pieces,
//   - a checkpoint names what is not installed yet, and the log is not cut beyond its entries; a
//     restart installs it before it serves,
//   - no version is discarded above the time of such a commit (collector), and no span is deleted
//     to which it may write (dropper).
//
// Package txn/model has it as a model.
type install struct {
	o       *openTxn      // its pieces and keys; not changed any more
	version txn.Timestamp // of the rows
	before  txn.Timestamp // pieces under own keys are read as they were below it
	bytes   atomic.Int64
	done    atomic.Bool // the rows are there
	pieces  pieceSet
}

const (
	// a write set of at most this many pieces is installed by the entry that commits it
	installInline = 1
	// bytes that are written at once, for which a small write may have to wait
	installBatch = 256 << 10
	installKeys  = 2048 // at most this many of their keys
	maxInstalls  = 2    // a large transaction is sent to the log when fewer wait to be installed
)

// later reports whether a committed transaction's rows are installed in the background.
func (o *openTxn) later() bool { return o.writes == nil && o.own+len(o.indexes) > installInline }

// installLater has the rows of o written in the background. Called by the entry that commits it.
func (m *machine) installLater(o *openTxn, at, version txn.Timestamp) {
	x := &install{o: o, version: version, before: at}
	x.makePieces()
	m.s.installing = append(m.s.installing, x)
	m.effects.installing = append(m.effects.installing, x)
}

// collectInstalled forgets what has been installed, at the stamp of an entry. It deletes pieces
// under own keys, above every checkpoint that names them.
func (m *machine) collectInstalled(at txn.Timestamp) error {
	var err error
	m.s.installing = slices.DeleteFunc(m.s.installing, func(x *install) bool {
		if !x.done.Load() || err != nil {
			return false
		}
		// so that the next checkpoint comes soon: the log is kept until then
		m.bytes += int(x.bytes.Load())
		err = m.dropOwnPieces(x.o, at)
		return err == nil
	})
	return err
}

// remaining is an install as a checkpoint names it. The log must keep the entries in indexes.
type remaining struct {
	*install
	indexes []uint64
}

// remaining lists the installs with work left after a restart: the rows are not there yet, or
// pieces under own keys are to be deleted. The installer works at the same time, so each install is
// looked at only once: the record of a checkpoint and its mark must not differ.
func (s *state) remaining() (list []remaining) {
	for _, x := range s.installing {
		switch {
		case !x.done.Load():
			list = append(list, remaining{x, x.o.indexes})
		case x.o.own > 0:
			list = append(list, remaining{x, nil})
		}
	}
	return list
}

// appendInstalling appends what a checkpoint says of installs.
func appendInstalling(b []byte, list []remaining) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, x := range list {
		b = append(b, x.o.id[:]...)
		b = codec.AppendTimestamp(b, x.version)
		b = binary.AppendUvarint(b, uint64(x.o.own))
		b = appendLogIndexes(b, x.indexes)
	}
	return b
}

func readInstalling(r *codec.Reader, at txn.Timestamp) (list []*install) {
	n := r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		x := &install{o: &openTxn{id: r.ID()}, before: at + 1}
		x.version = r.Timestamp()
		x.o.own = r.Int()
		x.o.indexes = readLogIndexes(r)
		list = append(list, x)
	}
	return list
}

// finishInstalls writes the rows that a checkpoint or a stream has named, before clients are
// served. If the log was cut beyond an entry of an install, its rows are in tables: a mark keeps
// the log until the rows are written, and takes effect when a key that was written later is in a
// table. Checkpoints of earlier releases may name such entries.
func (m *machine) finishInstalls() error {
	m.r.installs.starting = true
	defer func() { m.r.installs.starting = false }()
	cut := m.r.kept.CutAt()
	for _, x := range m.s.installing {
		if i := x.o.indexes; len(i) == 0 || i[0] > cut {
			x.makePieces()
			if err := m.r.installs.inTurn(x); err != nil {
				return err
			}
		}
		x.done.Store(true)
	}
	return nil
}

// newInstalling is what readers know of rows that are on their way.
func newInstalling(x *install) *preparedTxn {
	x.o.keys.Seal()
	x.o.keys.SealPieces()
	p := &preparedTxn{id: x.o.id, Writer: protocol.Writer[txn.Timestamp]{C: x.version}, summary: x.o.keys,
		installing: true, settled: make(chan struct{}), since: time.Now()}
	if x.o.keys.Pieces() == len(x.pieces.in) { // else all are waited for
		p.install = x
	}
	return p
}

// installer writes the rows of large transactions, one transaction after the other, in the order of
// their commits.
type installer struct {
	r       *Replica
	mu      sync.Mutex
	jobs    []*install    // guarded by mu
	busy    bool          // jobs are worked off; guarded by mu
	wants   []wanted      // guarded by mu
	workers int           // goroutines that work off wants; guarded by mu
	running int           // workers, and one while busy; guarded by mu
	room    chan struct{} // closed when jobs get fewer; guarded by mu
	halt    chan struct{} // closed: the replica's data is about to be replaced; guarded by mu
	turn    bool          // this replica's; of the goroutine that works off jobs
	// starting is set if the fragment serves no client before the rows are written. It is set
	// before any goroutine of the installer runs.
	starting bool
	// small commits of the node at the last check; used by the installing goroutine only
	writes int64
	idle   chan struct{} // closed when running is 0; guarded by mu
}

func newInstaller(r *Replica) *installer {
	return &installer{r: r, room: make(chan struct{}), halt: make(chan struct{})}
}

func (i *installer) start(list []*install) {
	if len(list) == 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.jobs = append(i.jobs, list...)
	if !i.busy {
		i.busy = true
		i.begin()
		go i.loop()
	}
}

// begin counts a goroutine that is about to run. Called with mu held.
func (i *installer) begin() {
	if i.running++; i.running == 1 {
		i.idle = make(chan struct{})
	}
}

// end is called by such a goroutine at its end, with mu held.
func (i *installer) end() {
	if i.running--; i.running == 0 {
		close(i.idle)
	}
}

func (i *installer) loop() {
	for {
		i.mu.Lock()
		if len(i.jobs) == 0 {
			i.rested()
			i.mu.Unlock()
			return
		}
		x := i.jobs[0]
		i.mu.Unlock()
		err := i.inTurn(x)
		if errors.Is(err, engine.ErrHalted) { // the checkpoint names it, or the log has it
			i.mu.Lock()
			i.rested()
			i.mu.Unlock()
			return
		}
		if err != nil {
			i.fail(x, err)
		}
		i.r.installed(x)
		i.mu.Lock()
		i.jobs = i.jobs[1:]
		close(i.room)
		i.room = make(chan struct{})
		i.mu.Unlock()
	}
}

// rested is called with mu held.
func (i *installer) rested() {
	i.busy = false
	i.end()
}

// fail ends the process, as an entry does that cannot be applied.
func (i *installer) fail(x *install, err error) {
	panic(fmt.Sprintf("fragment %d: cannot install transaction %s: %v", i.r.cfg.Fragment, x.o.id, err))
}

// inTurn writes the rows of x when it is this replica's turn.
func (i *installer) inTurn(x *install) error {
	if err := i.take(); err != nil {
		return err
	}
	defer i.give()
	return i.write(x)
}

// take waits for this replica's turn.
func (i *installer) take() error {
	select {
	case <-i.r.cfg.Pace.turn:
		i.turn = true
		return nil
	case <-i.r.stopper.Stopped():
	case <-i.halted():
	}
	return engine.ErrHalted
}

func (i *installer) give() {
	if i.turn {
		i.turn = false
		i.r.cfg.Pace.turn <- struct{}{}
	}
}

func (i *installer) halted() chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.halt
}

// write writes the rows of x that no worker has written, with pauses if others have to write too.
func (i *installer) write(x *install) error {
	since := int64(0)
	for again := true; again; again = !x.pieces.settle() { // a worker may have been halted
		for n := range x.pieces.in {
			if x.pieces.isIn(n) {
				continue
			}
			if x.bytes.Load()-since > turnBytes {
				since = x.bytes.Load()
				i.give()
				if err := i.take(); err != nil {
					return err
				}
			}
			if err := i.writePiece(x, n, false); err != nil {
				return err
			}
			x.pieces.arrived(n)
		}
	}
	i.r.fault("install.written")
	return nil
}

// writePiece writes the rows of piece n of x; wanted says that a reader waits for them.
func (i *installer) writePiece(x *install, n int, wanted bool) error {
	b, point := i.r.db.NewBatch(), "install.piece"
	b.Starting, b.Later, b.Halt = !wanted && i.starting, !wanted, i.halted()
	if wanted {
		point = "install.wanted"
	}
	flush := func() error {
		if err := i.rest(wanted); err != nil {
			return err
		}
		i.r.fault(point)
		x.bytes.Add(int64(b.Bytes()))
		if err := b.Widen(x.version); err != nil {
			return err
		}
		began := time.Now()
		err := b.Flush()
		if err == nil && !wanted {
			err = i.yield(time.Since(began))
		}
		return err
	}
	writes, err := i.r.machine.pieces.piece(x.o, n, x.before)
	if err != nil {
		select {
		case <-i.r.stopper.Stopped(): // the log may be closed
			return engine.ErrHalted
		default:
			return err
		}
	}
	err = logentry.EachOp(writes, func(op logentry.Op, key, value []byte) error {
		if !op.Writes() {
			return nil
		}
		if b.Bytes() > 0 && (b.Bytes()+len(key)+len(value) > installBatch || b.Len() == installKeys) {
			if err := flush(); err != nil {
				return err
			}
		}
		return b.Add(op, key, value, x.version)
	})
	if err != nil {
		return err
	}
	return flush()
}

// yield leaves the database to small transactions after a batch that took so long.
func (i *installer) yield(took time.Duration) error {
	if i.starting {
		return nil
	}
	i.mu.Lock()
	waiting, halt := len(i.jobs), i.halt
	i.mu.Unlock()
	before := i.writes
	i.writes = i.r.cfg.Pace.writes.Load()
	d := yieldFor(took, i.writes != before, waiting)
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-i.r.stopper.Stopped():
	case <-halt:
	}
	return engine.ErrHalted
}

// rest waits while the database is crowded: longer when nothing waits for what is written next.
func (i *installer) rest(wanted bool) error {
	longest := longestNap
	if wanted {
		longest = longestWantedNap
	}
	halt := i.halted()
	for began := time.Now(); ; {
		select {
		case <-i.r.stopper.Stopped():
			return engine.ErrHalted
		case <-halt:
			return engine.ErrHalted
		default:
		}
		if !i.r.db.Crowded(wanted) || time.Since(began) > longest {
			return nil
		}
		time.Sleep(pause)
	}
}

// awaitRoom waits until fewer than maxInstalls are waiting: the log keeps what is not installed.
func (i *installer) awaitRoom(ctx context.Context) error {
	for {
		i.mu.Lock()
		n, room := len(i.jobs), i.room
		i.mu.Unlock()
		if n < maxInstalls {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		case <-i.r.stopper.Stopped():
			return proposer.ErrNotLeader
		}
	}
}

// abandon ends what is running. What is not finished is forgotten, because the data is about to be
// replaced.
func (i *installer) abandon() {
	i.mu.Lock()
	close(i.halt)
	for _, x := range i.jobs {
		x.pieces.kill()
	}
	i.mu.Unlock()
	i.forgetPieces()
	i.wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wants = nil
	close(i.room)
	i.jobs, i.room, i.halt = nil, make(chan struct{}), make(chan struct{})
}

// forgetPieces frees the memory of pieces from which nothing will be read.
func (i *installer) forgetPieces() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, x := range i.jobs {
		i.r.cfg.Pace.pieces.forget(x)
	}
}

// wait returns when no install is running and no piece is being written: all are done, or the
// replica is closing.
func (i *installer) wait() {
	i.mu.Lock()
	running, idle := i.running, i.idle
	i.mu.Unlock()
	if running > 0 {
		<-idle
	}
}

// installed wakes the transactions that wait for the rows of x.
func (r *Replica) installed(x *install) {
	x.done.Store(true)
	r.cfg.Pace.pieces.forget(x)
	r.txns.installed(x.o.id)
}

// waitInstalled waits for the rows that were committed at or below T and may lie in a span.
func (r *rowReader) waitInstalled(ctx context.Context, T txn.Timestamp, span txn.Span) error {
	return r.waitResolved(ctx, nil, T, txn.ID{}, func(p *preparedTxn) bool { return p.installing && p.touches(span) })
}
