package kv

import (
	"errors"
	"fmt"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// NoAnswer means that a node did not answer. Whether it has done what was asked is not known.
type NoAnswer struct {
	Node uint32
	Name string
	Err  error
}

func (e *NoAnswer) Error() string { return fmt.Sprintf("node %s does not answer: %v", e.Name, e.Err) }

// Unwrap returns the client's error.
func (e *NoAnswer) Unwrap() error {
	return pgerr.New(pgerr.CannotConnectNow, "node %s does not answer", e.Name).
		WithDetail("%v", e.Err).WithHint("Try again in a moment.")
}

// UnknownOperation means that the node asked runs another version of Sherd, which does not know the
// request. Nothing was done, and asking again does not help.
type UnknownOperation struct{ Name string } // of the node

func (e *UnknownOperation) Error() string {
	return fmt.Sprintf("node %s does not know the operation", e.Name)
}

// Unwrap returns the client's error.
func (e *UnknownOperation) Unwrap() error {
	return pgerr.Unsupported("node %s does not support this operation", e.Name).
		WithHint("The node runs another version of Sherd. Try again when all nodes run the same version.")
}

// NotLeader means that the node asked does not lead the fragment. Nothing was done.
type NotLeader struct {
	Fragment txn.FragmentID
	Leader   uint32 // the node that leads, as far as the node asked knows; 0: it does not know
	Term     uint64 // of that leader
}

func (e *NotLeader) Error() string {
	if e.Leader != 0 {
		return fmt.Sprintf("fragment %d is led by node %d", e.Fragment, e.Leader)
	}
	return fmt.Sprintf("fragment %d has no known leader", e.Fragment)
}

// Unwrap returns the client's error.
func (e *NotLeader) Unwrap() error {
	return pgerr.New(pgerr.CannotConnectNow, "the fragment has no leader at present").WithHint("Try again in a moment.")
}

// ClockAhead means that the request's timestamp is too far ahead of the clock of the node asked.
type ClockAhead struct{ Err error }

func (e *ClockAhead) Error() string { return e.Err.Error() }

// Unwrap returns the client's error.
func (e *ClockAhead) Unwrap() error { return e.Err }

// LeaderGone reports whether an error means only that the node asked does not lead the fragment, or
// does not answer. That is 57P03, which is returned only if nothing was done, except for NoAnswer.
func LeaderGone(err error) bool { return pgerr.Is(err, pgerr.CannotConnectNow) }

// OutcomeOpen reports whether an error leaves the outcome of the request open.
func OutcomeOpen(err error) bool {
	var silent *NoAnswer
	return errors.As(err, &silent) || pgerr.Is(err, pgerr.StatementCompletionUnknown) || storage.TermEnded(err)
}
