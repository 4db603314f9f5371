package sequence

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Allocator takes the values of sequences ahead in blocks, for all sessions of a node. Its methods
// name the client that asks by its PID.
type Allocator struct {
	services *tx.Services

	mu     sync.Mutex
	blocks map[uint32]*block // by storage; guarded by mu
}

// block is what this node knows of a sequence's storage.
type block struct {
	turn chan struct{} // holds a token while the block is free; the holder of the token owns the rest

	known    bool  // stored is what was stored last
	stored   State // the row; the start of the sequence if there is no row
	row      bool  // there is a row
	returned State // the last value returned here, of a block that ends at stored
	left     int64 // how many values follow it
	size     int64 // of the last block
	at       time.Time
}

// State is where a sequence is: a value, and whether nextval has returned it.
type State struct {
	Value  int64
	Called bool
}

// A node takes as many values ahead as PostgreSQL logs (SEQ_LOG_VALS), and twice as many as the
// last time if those were used up within blockTime.
const (
	aheadValues = 32
	aheadMost   = 4096
	blockTime   = 250 * time.Millisecond
)

// NewAllocator returns an allocator that has taken nothing. The services must be complete before it
// is used.
func NewAllocator(services *tx.Services) *Allocator {
	return &Allocator{services: services, blocks: map[uint32]*block{}}
}

// acquire returns the block of a sequence for the caller alone, until it calls release.
func (a *Allocator) acquire(ctx context.Context, t *catalog.Table) (*block, error) {
	a.mu.Lock()
	b := a.blocks[t.StorageID]
	if b == nil {
		b = &block{turn: make(chan struct{}, 1)}
		b.turn <- struct{}{}
		a.blocks[t.StorageID] = b
	}
	a.mu.Unlock()
	select {
	case <-b.turn:
		return b, nil
	default:
	}
	select {
	case <-b.turn:
		return b, nil
	case <-ctx.Done():
		return nil, pgerr.Cancelled(ctx)
	}
}

func (b *block) release() { b.turn <- struct{}{} }

// Forget drops what is known of storages that no sequence of the view has.
func (a *Allocator) Forget(view *catalog.View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.blocks {
		if view.TableByStorage(id) == nil {
			delete(a.blocks, id)
		}
	}
}

// Return stores the last value returned here as the state of each sequence, unless another node has
// moved it since. So the rest of the blocks is not skipped. An error loses nothing.
func (a *Allocator) Return(ctx context.Context) error {
	view := a.services.Catalog.View()
	a.mu.Lock()
	ids := slices.Sorted(maps.Keys(a.blocks))
	a.mu.Unlock()
	var errs []error
	for _, id := range ids {
		if t := view.TableByStorage(id); t != nil && t.Sequence != nil {
			errs = append(errs, a.returnOne(ctx, t))
		}
	}
	return errors.Join(errs...)
}

func (a *Allocator) returnOne(ctx context.Context, t *catalog.Table) error {
	b, err := a.acquire(ctx, t)
	if err != nil {
		return err
	}
	defer b.release()
	if !b.known || b.left == 0 {
		return nil
	}
	from, to := b.stored, b.returned
	_, err = a.store(ctx, 0, t, b, &from, to)
	b.known = false
	return err
}

// take returns the next values of a sequence: n, or fewer if the block or the sequence ends. Error:
// 2200H at the end of a sequence.
func (a *Allocator) take(ctx context.Context, pid uint32, t *catalog.Table, n int64) (catalog.Run, error) {
	b, err := a.acquire(ctx, t)
	if err != nil {
		return catalog.Run{}, err
	}
	defer b.release()
	if b.left == 0 {
		if err := a.advance(ctx, pid, t, b, n); err != nil {
			return catalog.Run{}, err
		}
	}
	r, ok := t.Sequence.After(b.returned.Value, b.returned.Called, min(n, b.left))
	if !ok {
		return r, t.Exhausted()
	}
	b.returned = State{r.Last, true}
	b.left -= r.Count
	return r, nil
}

// advance moves the stored state ahead, by a block of at least n values.
func (a *Allocator) advance(ctx context.Context, pid uint32, t *catalog.Table, b *block, n int64) error {
	size := int64(aheadValues)
	now := time.Now()
	if now.Sub(b.at) < blockTime {
		size = min(max(2*b.size, size), aheadMost)
	}
	for {
		if !b.known {
			if err := a.load(ctx, pid, t, b); err != nil {
				return err
			}
		}
		r, ok := t.Sequence.After(b.stored.Value, b.stored.Called, n+size)
		if !ok {
			return t.Exhausted()
		}
		before, to := b.stored, State{r.Last, true}
		done, err := a.store(ctx, pid, t, b, &before, to)
		if err != nil {
			return err
		}
		if done {
			b.returned, b.left = before, r.Count
			b.size, b.at = size, now
			return nil
		}
	}
}

// set makes a state the sequence's, whatever it was.
func (a *Allocator) set(ctx context.Context, pid uint32, t *catalog.Table, to State) error {
	b, err := a.acquire(ctx, t)
	if err != nil {
		return err
	}
	defer b.release()
	for {
		if !b.known {
			if err := a.load(ctx, pid, t, b); err != nil {
				return err
			}
		}
		done, err := a.store(ctx, pid, t, b, nil, to)
		if err != nil {
			return err
		}
		if done {
			b.returned, b.left, b.at = to, 0, time.Time{}
			return nil
		}
	}
}

// state returns where a sequence is, and how many values are taken ahead: the last value returned
// here, unless another node has moved the sequence since.
func (a *Allocator) state(ctx context.Context, pid uint32, t *catalog.Table) (s State, ahead int64, err error) {
	b, err := a.acquire(ctx, t)
	if err != nil {
		return s, 0, err
	}
	defer b.release()
	before, returned, left := b.stored, b.returned, b.left
	known := b.known
	if err := a.load(ctx, pid, t, b); err != nil {
		return s, 0, err
	}
	if known && before == b.stored {
		b.returned, b.left = returned, left
		return returned, left, nil
	}
	return b.stored, 0, nil
}

// load reads the stored state. The rest of a block is given up.
func (a *Allocator) load(ctx context.Context, pid uint32, t *catalog.Table, b *block) error {
	b.known, b.left = false, 0
	row, state := false, State{t.Sequence.Value, t.Sequence.Called}
	const text = "SELECT last_value, is_called FROM %s WHERE sequence = $1"
	_, err := a.run(ctx, pid, t, text, []types.Datum{key(t)}, func(r []types.Datum) error {
		row, state = true, State{r[0].N, r[1].Bool()}
		return nil
	})
	if err == nil {
		b.known, b.row, b.stored, b.returned = true, row, state, state
	}
	return err
}

// store writes a state, if from is nil or is stored. It reports whether it did; if not, the state
// must be loaded again.
func (a *Allocator) store(
	ctx context.Context, pid uint32, t *catalog.Table, b *block, from *State, to State,
) (bool, error) {
	args := []types.Datum{key(t), types.NewInt(to.Value), types.NewBool(to.Called)}
	text := "UPDATE %s SET last_value = $2, is_called = $3 WHERE sequence = $1"
	switch {
	case !b.row:
		text = "INSERT INTO %s (sequence, last_value, log_cnt, is_called) VALUES ($1, $2, 0, $3)" +
			" ON CONFLICT (sequence) DO NOTHING"
	case from != nil:
		text += " AND last_value = $4 AND is_called = $5"
		args = append(args, types.NewInt(from.Value), types.NewBool(from.Called))
	}
	b.known, b.left = false, 0 // until the answer is there
	n, err := a.run(ctx, pid, t, text, args, nil)
	if err != nil || n == 0 {
		return false, err
	}
	b.known, b.row, b.stored = true, true, to
	return true, nil
}

func key(t *catalog.Table) types.Datum { return types.NewInt(int64(t.OID)) }

// maxTries is how often a statement on a sequence's storage is run that meets conflicts.
const maxTries = 32

// run runs a statement about a sequence's storage, %s in text, in a transaction of its own.
func (a *Allocator) run(
	ctx context.Context, pid uint32, t *catalog.Table, text string, args []types.Datum, emit exec.Emit,
) (int64, error) {
	view := a.services.Catalog.View()
	now := view.Table(t.OID)
	if now == nil || now.StorageID != t.StorageID {
		return 0, pgerr.New(pgerr.SerializationFailure, `sequence "%s" was changed meanwhile`, t.Name)
	}
	p, err := program(view, now, text, len(args))
	if err != nil {
		return 0, err
	}
	for attempt := 0; ; attempt++ {
		d := a.services.Catalog.View().Database(now.Database)
		if d == nil {
			return 0, pgerr.New(pgerr.InvalidCatalogName, "the sequence's database was dropped")
		}
		n, err := a.attempt(ctx, pid, d, p, args, emit)
		if moved := (*txn.MovedError)(nil); errors.As(err, &moved) { // while its timestamp was asked for
			if _, err := a.services.WaitMap(ctx, d.OID, d.Map.Epoch()); err != nil {
				return 0, err
			}
		}
		if !pgerr.Is(err, pgerr.SerializationFailure) || attempt == maxTries ||
			!stmt.Sleep(ctx, time.Duration(attempt)*time.Millisecond) {
			return n, err
		}
	}
}

func (a *Allocator) attempt(
	ctx context.Context, pid uint32, d *catalog.Database, p *exec.Program, args []types.Datum, emit exec.Emit,
) (int64, error) {
	parts := a.services.Join()
	parts.Configure(txn.Options{Isolation: txn.ReadCommitted, Session: pid})
	floor := txn.Timestamp(0)
	c := &exec.Ctx{
		Execution: operator.Execution{
			Ctx: expr.Ctx{Context: ctx, Params: args, Env: &types.Env{Now: types.TimestampOf(time.Now())}},
			Mem: memory.New(queryMemory),
		},
		Gateway: &exec.Gateway{
			Txn: parts.ID(), Map: d.Map, Fragment: parts.Fragment, Name: d.NameOfFragment,
			Snapshot: func(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
				t, err := parts.Snapshot(ctx, shares, d.Map.Epoch())
				floor = max(t, 1)
				return floor, err
			},
			Leave: func() (txn.Timestamp, bool) { return 0, true },
			Took:  func(T txn.Timestamp) { floor = T },
			Renew: func(ctx context.Context, epoch uint64) (*shardmap.Map, error) {
				return a.services.WaitMap(ctx, d.OID, epoch)
			},
		},
	}
	c.Limits.Isolation = txn.ReadCommitted
	if emit == nil {
		emit = func([]types.Datum) error { return nil }
	}
	if err := p.Run(c, emit); err != nil {
		parts.Rollback()
		return 0, err
	}
	_, err := parts.Commit(ctx, floor)
	return c.Affected, err
}

// queryMemory bounds what a statement about one row may keep.
const queryMemory = 1 << 20

// program compiles a statement about a sequence's storage.
func program(view *catalog.View, t *catalog.Table, text string, args int) (*exec.Program, error) {
	name := builtin.QuoteIdent(view.Schema(t.Schema).Name) + "." + builtin.QuoteIdent(t.Name)
	params := []types.OID{types.Int8, types.Int8, types.Bool, types.Int8, types.Bool}[:args]
	p, err := stmt.HiddenProgram(view, t.Database, strings.Replace(text, "%s", name, 1), params...)
	if err != nil {
		return nil, err
	}
	return p.Exec, nil
}
