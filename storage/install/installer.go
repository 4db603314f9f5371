// Package install writes the rows of large transactions to the database, apart from the goroutine
// that applies the log, so that the entries after a commit need not wait. Rows is one write set, in
// pieces; an Installer writes those of one fragment, in the order of the commits; what the replicas
// of a node share is a Pace.
//
//   - IN1 A piece that is written twice writes the same keys at the same version, so pieces may be
//     written in any order: those that a reader waits for come first, without the pauses between the
//     others.
//   - IN2 Find returns a row only if its piece was not in the database. A caller that has read the
//     database afterwards asks Row.Arrived, and looks again if the piece has come meanwhile.
//   - IN3 If an Installer is abandoned, because the data is about to be replaced, all that wait are
//     notified, and nothing more is written.
//
// The package knows pieces, keys and versions. It does not know when rows become visible.
package install

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/stopper"
	"github.com/sherddb/sherd/txn"
)

const (
	// bytes that are written at once, for which a small write may have to wait
	batchBytes = 256 << 10
	batchKeys  = 2048 // at most this many of their keys
	// MaxWaiting is the number of transactions with rows to be written from which on another large
	// one is not sent to the log.
	MaxWaiting = 2
)

// Config has what an Installer uses.
type Config struct {
	DB       *engine.Engine
	Pace     *Pace
	Stopper  *stopper.Stopper
	Fragment txn.FragmentID // for messages
	// Installed is called when all rows of a transaction are in the database.
	Installed func(x *Rows)
	Closed    error // of calls after Stopper has stopped
	Fault     func(point string)
}

// Installer writes the rows of large transactions, one transaction after the other, in the order of
// their commits.
type Installer struct {
	cfg     Config
	mu      sync.Mutex
	jobs    []*Rows       // guarded by mu
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

// New returns an Installer that writes nothing yet.
func New(cfg Config) *Installer {
	return &Installer{cfg: cfg, room: make(chan struct{}), halt: make(chan struct{})}
}

// Start has rows written in the background.
func (i *Installer) Start(list []*Rows) {
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
func (i *Installer) begin() {
	if i.running++; i.running == 1 {
		i.idle = make(chan struct{})
	}
}

// end is called by such a goroutine at its end, with mu held.
func (i *Installer) end() {
	if i.running--; i.running == 0 {
		close(i.idle)
	}
}

func (i *Installer) loop() {
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
		i.finish(x)
		i.mu.Lock()
		i.jobs = i.jobs[1:]
		close(i.room)
		i.room = make(chan struct{})
		i.mu.Unlock()
	}
}

// rested is called with mu held.
func (i *Installer) rested() {
	i.busy = false
	i.end()
}

// fail ends the process, as an entry does that cannot be applied.
func (i *Installer) fail(x *Rows, err error) {
	panic(fmt.Sprintf("fragment %d: cannot install transaction %s: %v", i.cfg.Fragment, x.ID, err))
}

// WriteAll writes rows in turn, and returns when they are in the database. The fragment serves no
// client before.
func (i *Installer) WriteAll(list []*Rows) error {
	i.starting = true
	defer func() { i.starting = false }()
	for _, x := range list {
		if err := i.inTurn(x); err != nil {
			return err
		}
		x.done.Store(true)
	}
	return nil
}

// finish notes that all rows of x are in the database.
func (i *Installer) finish(x *Rows) {
	x.done.Store(true)
	i.cfg.Pace.pieces.forget(x)
	i.cfg.Installed(x)
}

// inTurn writes the rows of x when it is this replica's turn.
func (i *Installer) inTurn(x *Rows) error {
	if err := i.take(); err != nil {
		return err
	}
	defer i.give()
	return i.write(x)
}

// take waits for this replica's turn.
func (i *Installer) take() error {
	select {
	case <-i.cfg.Pace.turn:
		i.turn = true
		return nil
	case <-i.cfg.Stopper.Stopped():
	case <-i.halted():
	}
	return engine.ErrHalted
}

func (i *Installer) give() {
	if i.turn {
		i.turn = false
		i.cfg.Pace.turn <- struct{}{}
	}
}

func (i *Installer) halted() chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.halt
}

// write writes the rows of x that no worker has written, with pauses if others have to write too.
func (i *Installer) write(x *Rows) error {
	since := int64(0)
	for again := true; again; again = !x.pieces.allIn() { // a worker may have been halted
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
	i.cfg.Fault("install.written")
	return nil
}

// writePiece writes the rows of piece n of x; wanted says that a reader waits for them.
func (i *Installer) writePiece(x *Rows, n int, wanted bool) error {
	b, point := i.cfg.DB.NewBatch(), "install.piece"
	b.Starting, b.Later, b.Halt = !wanted && i.starting, !wanted, i.halted()
	if wanted {
		point = "install.wanted"
	}
	flush := func() error {
		if err := i.rest(wanted); err != nil {
			return err
		}
		i.cfg.Fault(point)
		x.bytes.Add(int64(b.Bytes()))
		if err := b.Widen(x.Version); err != nil {
			return err
		}
		began := time.Now()
		err := b.Flush()
		if err == nil && !wanted {
			err = i.yield(time.Since(began))
		}
		return err
	}
	writes, err := x.read(n)
	if err != nil {
		select {
		case <-i.cfg.Stopper.Stopped(): // the log may be closed
			return engine.ErrHalted
		default:
			return err
		}
	}
	err = logentry.EachOp(writes, func(op logentry.Op, key, value []byte) error {
		if !op.Writes() {
			return nil
		}
		if b.Bytes() > 0 && (b.Bytes()+len(key)+len(value) > batchBytes || b.Len() == batchKeys) {
			if err := flush(); err != nil {
				return err
			}
		}
		return b.Add(op, key, value, x.Version)
	})
	if err != nil {
		return err
	}
	return flush()
}

// yield leaves the database to small transactions after a batch that took so long.
func (i *Installer) yield(took time.Duration) error {
	if i.starting {
		return nil
	}
	i.mu.Lock()
	waiting, halt := len(i.jobs), i.halt
	i.mu.Unlock()
	before := i.writes
	i.writes = i.cfg.Pace.writes.Load()
	d := yieldFor(took, i.writes != before, waiting)
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-i.cfg.Stopper.Stopped():
	case <-halt:
	}
	return engine.ErrHalted
}

// rest waits while the database is crowded: longer when nothing waits for what is written next.
func (i *Installer) rest(wanted bool) error {
	longest := longestNap
	if wanted {
		longest = longestWantedNap
	}
	halt := i.halted()
	for began := time.Now(); ; {
		select {
		case <-i.cfg.Stopper.Stopped():
			return engine.ErrHalted
		case <-halt:
			return engine.ErrHalted
		default:
		}
		if !i.cfg.DB.Crowded(wanted) || time.Since(began) > longest {
			return nil
		}
		time.Sleep(pause)
	}
}

// Workers returns how many goroutines write pieces that readers wait for.
func (i *Installer) Workers() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.workers
}

// AwaitRoom waits until fewer than MaxWaiting are waiting: the log keeps what is not installed.
func (i *Installer) AwaitRoom(ctx context.Context) error {
	for {
		i.mu.Lock()
		n, room := len(i.jobs), i.room
		i.mu.Unlock()
		if n < MaxWaiting {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		case <-i.cfg.Stopper.Stopped():
			return i.cfg.Closed
		}
	}
}

// Abandon ends what is running. What is not finished is forgotten, because the data is about to be
// replaced.
func (i *Installer) Abandon() {
	i.mu.Lock()
	close(i.halt)
	for _, x := range i.jobs {
		x.pieces.kill()
	}
	i.mu.Unlock()
	i.ForgetPieces()
	i.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wants = nil
	close(i.room)
	i.jobs, i.room, i.halt = nil, make(chan struct{}), make(chan struct{})
}

// ForgetPieces frees the memory of pieces from which nothing will be read.
func (i *Installer) ForgetPieces() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, x := range i.jobs {
		i.cfg.Pace.pieces.forget(x)
	}
}

// Wait returns when no install is running and no piece is being written: all are done, or the
// replica is closing.
func (i *Installer) Wait() {
	i.mu.Lock()
	running, idle := i.running, i.idle
	i.mu.Unlock()
	if running > 0 {
		<-idle
	}
}
