package exec

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/sherddb/sherd/internal/pgerr"
)

// guarded runs a task and makes a panic below it the statement's error: nobody else recovers on a goroutine of ours, and a fragment whose
// files are damaged must not take the process with it.
func guarded(ctx context.Context, f Fragment, task *Task, emit Emit) (r Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p, debug.Stack())
		}
	}()
	return f.Run(ctx, task, emit)
}

// panicked logs a panic and gives the error for the client. Badger's readers panic over tables that are not as they were written.
func panicked(p any, stack []byte) error {
	slog.Error("panic in a fragment's part of a statement", "panic", fmt.Sprint(p), "stack", string(stack))
	if bytes.Contains(stack, []byte("/badger/")) {
		return pgerr.New(pgerr.DataCorrupted, "the files of a fragment are damaged: %v", p).WithHint("The log has the details.")
	}
	return pgerr.New(pgerr.InternalError, "internal error: %v", p).WithHint("The log has the details.")
}
