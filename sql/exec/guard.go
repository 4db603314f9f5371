package exec

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/sherddb/sherd/internal/pgerr"
)

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
