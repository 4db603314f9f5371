package sql

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
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// sequences gives this node's sessions the values of sequences. Where a sequence is, is a row of its storage, in the fragment that its bucket chooses:
// the last value that anybody may have given. A node moves it ahead, in a small transaction of its own, before it gives the values up to there
// (its block); so a value is never given twice, whatever crashes, and other nodes do the same. What is left of a block when the node goes is skipped.
type sequences struct {
	db *Server

	mu     sync.Mutex
	blocks map[uint32]*sequenceBlock // by storage; guarded by mu
}

// sequenceBlock is what this node knows of a sequence's storage.
type sequenceBlock struct {
	turn chan struct{} // holds a token while nobody works on the block; the rest is the worker's

	known  bool          // whether stored is what was there last
	stored sequenceState // the row, or where the sequence begins while there is none
	row    bool          // there is a row
	given  sequenceState // what was given last here, of a block that ends at stored
	left   int64         // how many values follow it
	size   int64         // of the last block
	at     time.Time     // when it was taken
}

// sequenceState is where a sequence is: value, and whether it has been given.
type sequenceState struct {
	value  int64
	called bool
}

// A node takes as many values ahead as PostgreSQL logs (SEQ_LOG_VALS), and twice as many as the last time where those did not last blockTime.
const (
	aheadValues = 32
	aheadMost   = 4096
	blockTime   = 250 * time.Millisecond
)

func newSequences(db *Server) *sequences {
	return &sequences{db: db, blocks: map[uint32]*sequenceBlock{}}
}

// hold gives the block of a sequence to the caller alone, until it calls release.
func (x *sequences) hold(ctx context.Context, t *catalog.Table) (*sequenceBlock, error) {
	x.mu.Lock()
	b := x.blocks[t.StorageID]
	if b == nil {
		b = &sequenceBlock{turn: make(chan struct{}, 1)}
		b.turn <- struct{}{}
		x.blocks[t.StorageID] = b
	}
	x.mu.Unlock()
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

func (b *sequenceBlock) release() { b.turn <- struct{}{} }

// forget drops what is known of storages that no sequence has any more.
func (x *sequences) forget(view *catalog.View) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.blocks {
		if view.TableByStorage(id) == nil {
			delete(x.blocks, id)
		}
	}
}

// giveBack stores what was given as the state of each sequence, where no other node has moved it since: what follows is not skipped.
func (x *sequences) giveBack(ctx context.Context) error {
	view := x.db.cfg.Catalog.View()
	x.mu.Lock()
	ids := slices.Sorted(maps.Keys(x.blocks))
	x.mu.Unlock()
	var errs []error
	for _, id := range ids {
		if t := view.TableByStorage(id); t != nil && t.Sequence != nil {
			errs = append(errs, x.giveBackOne(ctx, t))
		}
	}
	return errors.Join(errs...)
}

func (x *sequences) giveBackOne(ctx context.Context, t *catalog.Table) error {
	b, err := x.hold(ctx, t)
	if err != nil {
		return err
	}
	defer b.release()
	if !b.known || b.left == 0 {
		return nil
	}
	from, to := b.stored, b.given
	_, err = x.store(ctx, 0, t, b, &from, to)
	b.known = false
	return err
}

// take gives the next values of a sequence: n, or fewer where the block, or the sequence, ends. Error: 2200H at the end of a sequence.
func (x *sequences) take(ctx context.Context, pid uint32, t *catalog.Table, n int64) (catalog.Run, error) {
	b, err := x.hold(ctx, t)
	if err != nil {
		return catalog.Run{}, err
	}
	defer b.release()
	if b.left == 0 {
		if err := x.advance(ctx, pid, t, b, n); err != nil {
			return catalog.Run{}, err
		}
	}
	r, ok := t.Sequence.After(b.given.value, b.given.called, min(n, b.left))
	if !ok {
		return r, t.Exhausted()
	}
	b.given = sequenceState{r.Last, true}
	b.left -= r.Count
	return r, nil
}

// advance moves the stored state ahead, by a block that holds n values at least.
func (x *sequences) advance(ctx context.Context, pid uint32, t *catalog.Table, b *sequenceBlock, n int64) error {
	size := int64(aheadValues)
	now := time.Now()
	if now.Sub(b.at) < blockTime {
		size = min(max(2*b.size, size), aheadMost)
	}
	for {
		if !b.known {
			if err := x.load(ctx, pid, t, b); err != nil {
				return err
			}
		}
		r, ok := t.Sequence.After(b.stored.value, b.stored.called, n+size)
		if !ok {
			return t.Exhausted()
		}
		before, to := b.stored, sequenceState{r.Last, true}
		done, err := x.store(ctx, pid, t, b, &before, to)
		if err != nil {
			return err
		}
		if done {
			b.given, b.left = before, r.Count
			b.size, b.at = size, now
			return nil
		}
	}
}

// set makes a state the sequence's, whatever it was.
func (x *sequences) set(ctx context.Context, pid uint32, t *catalog.Table, to sequenceState) error {
	b, err := x.hold(ctx, t)
	if err != nil {
		return err
	}
	defer b.release()
	for {
		if !b.known {
			if err := x.load(ctx, pid, t, b); err != nil {
				return err
			}
		}
		done, err := x.store(ctx, pid, t, b, nil, to)
		if err != nil {
			return err
		}
		if done {
			b.given, b.left, b.at = to, 0, time.Time{}
			return nil
		}
	}
}

// state tells where a sequence is, and how many values are taken ahead: what was given here last, if no other node has moved it since.
func (x *sequences) state(ctx context.Context, pid uint32, t *catalog.Table) (s sequenceState, ahead int64, err error) {
	b, err := x.hold(ctx, t)
	if err != nil {
		return s, 0, err
	}
	defer b.release()
	before, given, left := b.stored, b.given, b.left
	known := b.known
	if err := x.load(ctx, pid, t, b); err != nil {
		return s, 0, err
	}
	if known && before == b.stored {
		b.given, b.left = given, left
		return given, left, nil
	}
	return b.stored, 0, nil
}

// load reads the stored state; a block that was not used up is given up.
func (x *sequences) load(ctx context.Context, pid uint32, t *catalog.Table, b *sequenceBlock) error {
	b.known, b.left = false, 0
	row, state := false, sequenceState{t.Sequence.Value, t.Sequence.Called}
	_, err := x.run(ctx, pid, t, "SELECT last_value, is_called FROM %s WHERE sequence = $1", []types.Datum{key(t)}, func(r []types.Datum) error {
		row, state = true, sequenceState{r[0].N, r[1].Bool()}
		return nil
	})
	if err == nil {
		b.known, b.row, b.stored, b.given = true, row, state, state
	}
	return err
}

// store writes a state; with from only where that is what is stored. It tells whether it did; if not, the state must be loaded again.
func (x *sequences) store(ctx context.Context, pid uint32, t *catalog.Table, b *sequenceBlock, from *sequenceState, to sequenceState) (bool, error) {
	args := []types.Datum{key(t), types.NewInt(to.value), types.NewBool(to.called)}
	text := "UPDATE %s SET last_value = $2, is_called = $3 WHERE sequence = $1"
	switch {
	case !b.row:
		text = "INSERT INTO %s (sequence, last_value, log_cnt, is_called) VALUES ($1, $2, 0, $3) ON CONFLICT (sequence) DO NOTHING"
	case from != nil:
		text += " AND last_value = $4 AND is_called = $5"
		args = append(args, types.NewInt(from.value), types.NewBool(from.called))
	}
	b.known, b.left = false, 0 // until the answer is there
	n, err := x.run(ctx, pid, t, text, args, nil)
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
func (x *sequences) run(ctx context.Context, pid uint32, t *catalog.Table, text string, args []types.Datum, emit exec.Emit) (int64, error) {
	view := x.db.cfg.Catalog.View()
	now := view.Table(t.OID)
	if now == nil || now.StorageID != t.StorageID {
		return 0, pgerr.New(pgerr.SerializationFailure, `sequence "%s" was changed meanwhile`, t.Name)
	}
	p, err := sequenceProgram(view, now, text, len(args))
	if err != nil {
		return 0, err
	}
	for attempt := 0; ; attempt++ {
		d := x.db.cfg.Catalog.View().Database(now.Database)
		if d == nil {
			return 0, pgerr.New(pgerr.InvalidCatalogName, "the sequence's database was dropped")
		}
		n, err := x.attempt(ctx, pid, d, p, args, emit)
		if moved := (*txn.MovedError)(nil); errors.As(err, &moved) { // while its timestamp was asked for
			if _, err := x.db.services.WaitMap(ctx, d.OID, d.Map.Epoch()); err != nil {
				return 0, err
			}
		}
		if !pgerr.Is(err, pgerr.SerializationFailure) || attempt == maxTries ||
			!stmt.Sleep(ctx, time.Duration(attempt)*time.Millisecond) {
			return n, err
		}
	}
}

func (x *sequences) attempt(ctx context.Context, pid uint32, d *catalog.Database, p *exec.Program, args []types.Datum, emit exec.Emit) (int64, error) {
	parts := x.db.cfg.Fragments.Begin()
	parts.Configure(exec.TransactionOptions{Isolation: txn.ReadCommitted, Session: pid})
	floor := txn.Timestamp(0)
	c := &exec.Ctx{
		Execution: operator.Execution{
			Ctx: expr.Ctx{Context: ctx, Params: args, Env: &types.Env{Now: types.TimestampOf(time.Now())}},
			Mem: memory.New(sequenceMemory),
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
				return x.db.services.WaitMap(ctx, d.OID, epoch)
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

// sequenceMemory bounds what a statement about one row may keep.
const sequenceMemory = 1 << 20

// sequenceProgram makes the program of a statement about a sequence's storage.
func sequenceProgram(view *catalog.View, t *catalog.Table, text string, args int) (*exec.Program, error) {
	schema := view.Schema(t.Schema)
	before, after, _ := strings.Cut(text, "%s")
	text = before + builtin.QuoteIdent(schema.Name) + "." + builtin.QuoteIdent(t.Name) + after
	stmts, err := parse.Parse(text)
	if err != nil {
		return nil, err
	}
	params := []types.OID{types.Int8, types.Int8, types.Bool, types.Int8, types.Bool}[:args]
	q, _, err := analyze.Statement(&analyze.Context{Catalog: view, Database: t.Database, Source: text, Storage: true}, stmts[0].Node, params)
	if err != nil {
		return nil, err
	}
	pl, err := plan.Build(q, plan.Env{Fold: expr.EvalConst})
	if err != nil {
		return nil, err
	}
	return exec.Compile(pl)
}
