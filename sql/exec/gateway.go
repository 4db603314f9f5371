package exec

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// Gateway is what the executor needs from the session's transaction and the database's fragments.
// The cluster creates one for each transaction. Its functions are called from one goroutine, except
// Fragment and Renew; fragments are called from several.
type Gateway struct {
	Txn    txn.ID
	Logger *slog.Logger // of recovered panics; nil: slog.Default()
	// Map is the bucket map that this statement uses. If a fragment reports that it does not own
	// buckets any more, Renew waits for a map that is newer than an epoch and returns it; nil:
	// buckets do not move. An error means that rows in the transaction's write buffers have moved
	// away.
	Map   *shardmap.Map
	Renew func(ctx context.Context, epoch uint64) (*shardmap.Map, error)
	// Fragment returns a fragment of the map, as the transaction uses it, or shardmap.Session.
	Fragment func(id shardmap.FragmentID) (Fragment, error)
	// Name returns a fragment's name, such as orders$1.
	Name func(id shardmap.FragmentID) string
	// Snapshot returns the read timestamp of a statement that may reach these buckets (T6). In a
	// transaction with one snapshot it is always that one.
	Snapshot func(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error)
	// Leave reports whether the fragment may choose the read timestamp of a statement that reads
	// only one fragment, which saves a round trip. The timestamp must not be below floor (T6). Took
	// gets it before the first row. nil: the fragment may not choose.
	Leave func() (floor txn.Timestamp, ok bool)
	Took  func(T txn.Timestamp)
}

// ReadingAt returns a gateway whose read timestamp is fixed.
func (g Gateway) ReadingAt(at txn.Timestamp) *Gateway {
	g.Snapshot = func(context.Context, []shardmap.Share) (txn.Timestamp, error) { return at, nil }
	g.Leave = nil
	return &g
}

// mapOf returns the map by which the rows of a table are placed; nil is no table in particular.
func (g *Gateway) mapOf(t *catalog.Table) *shardmap.Map {
	if t != nil && t.IsTemporary() {
		return shardmap.SessionMap()
	}
	return g.Map
}

// run runs a task in a fragment. It turns a panic below it into the statement's error, because a
// damaged file must not end the process.
func (g *Gateway) run(ctx context.Context, f Fragment, task *Task, emit Emit) (r Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = g.panicked(p, debug.Stack())
		}
	}()
	return f.Run(ctx, task, emit)
}

// panicked logs a panic and returns the error for the client. Badger panics when it reads damaged
// tables.
func (g *Gateway) panicked(p any, stack []byte) error {
	log := g.Logger
	if log == nil {
		log = slog.Default()
	}
	log.Error("panic in a fragment's part of a statement", "panic", fmt.Sprint(p), "stack", string(stack))
	if bytes.Contains(stack, []byte("/badger/")) {
		return pgerr.New(pgerr.DataCorrupted, "the files of a fragment are damaged: %v", p).
			WithHint("The log has the details.")
	}
	return pgerr.New(pgerr.InternalError, "internal error: %v", p).WithHint("The log has the details.")
}
