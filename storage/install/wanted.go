package install

import (
	"errors"

	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/logentry"
)

// wanted is a piece that is waited for.
type wanted struct {
	x *Rows
	n int
}

// Want has pieces of x written now, and returns a channel that is closed when the caller should
// look again. It returns ended if nothing will be written any more.
func (i *Installer) Want(x *Rows, list []int, ended <-chan struct{}) <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	select {
	case <-i.cfg.Stopper.Stopped():
		return ended
	default:
	}
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	if x.pieces.dead {
		return ended
	}
	var first chan struct{}
	for _, n := range list {
		if x.pieces.in[n] {
			continue
		}
		ch := x.pieces.waiting[n]
		if ch == nil {
			if x.pieces.waiting == nil {
				x.pieces.waiting = map[int]chan struct{}{}
			}
			ch = make(chan struct{})
			x.pieces.waiting[n] = ch
			i.wants = append(i.wants, wanted{x, n})
		}
		if first == nil {
			first = ch
		}
	}
	if first == nil {
		return closedChannel
	}
	for i.workers < min(wantedWorkers, len(i.wants)) {
		i.workers++
		i.begin()
		go i.work()
	}
	return first
}

var closedChannel = func() chan struct{} { ch := make(chan struct{}); close(ch); return ch }()

// work installs what is wanted until nothing is.
func (i *Installer) work() {
	for {
		i.mu.Lock()
		if len(i.wants) == 0 {
			i.workers--
			i.end()
			i.mu.Unlock()
			return
		}
		w := i.wants[0]
		i.wants = i.wants[1:]
		i.mu.Unlock()
		i.bring(w.x, w.n)
	}
}

// bring installs piece n of x, unless it is there.
func (i *Installer) bring(x *Rows, n int) {
	p := &x.pieces
	p.mu.Lock()
	if p.dead || p.in[n] {
		p.mu.Unlock()
		return
	}
	p.flying++
	p.mu.Unlock()
	err := i.writePiece(x, n, true)
	if err == nil {
		p.arrived(n)
	}
	p.mu.Lock()
	p.flying--
	p.landed.Broadcast()
	p.mu.Unlock()
	if err != nil && !errors.Is(err, engine.ErrHalted) {
		i.fail(x, err)
	}
}

// Find returns what x writes to key, or nil if that is in the database or x does not write to it.
// It returns engine.ErrHalted if x has been abandoned.
func (i *Installer) Find(x *Rows, key []byte) (*Row, error) {
	for _, n := range x.holding(key) {
		writes, err := i.readPiece(x, n)
		if err != nil && x.pieces.isIn(n) { // the log need not have the piece any more
			continue
		}
		if err != nil {
			return nil, err
		}
		op, value, ok, err := findOp(writes, key)
		if ok || err != nil {
			return &Row{op, value, x.Version, x, n}, err
		}
	}
	return nil, nil
}

// readPiece returns the operations of piece n of x.
func (i *Installer) readPiece(x *Rows, n int) ([]byte, error) {
	cache := &i.cfg.Pace.pieces
	if b := cache.get(x, n); b != nil {
		return b, nil
	}
	if !i.cfg.Stopper.Begin() { // the log stays open
		return nil, i.cfg.Closed
	}
	defer i.cfg.Stopper.End()
	b, err := x.read(n)
	if err != nil && x.pieces.over() {
		return nil, engine.ErrHalted
	}
	if err != nil {
		return nil, err
	}
	if cache.put(x, n, b); x.pieces.over() {
		cache.forget(x)
	}
	return b, nil
}

var errFound = errors.New("install: found")

// findOp returns the operation that writes key.
func findOp(writes, key []byte) (op logentry.Op, value []byte, ok bool, err error) {
	err = logentry.EachOp(writes, func(o logentry.Op, k, v []byte) error {
		if string(k) != string(key) || !o.Writes() {
			return nil
		}
		op, value = o, v
		return errFound
	})
	if err == errFound {
		return op, value, true, nil
	}
	return 0, nil, false, err
}
