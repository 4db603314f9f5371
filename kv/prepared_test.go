package kv

import (
	"context"
	"errors"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// TestCommitPreparedWithoutAnswer: a request that was not answered may still be at work when its
// leader says that the transaction is prepared as before. That does not mean that it will not
// commit.
func TestCommitPreparedWithoutAnswer(t *testing.T) {
	id, silent := txn.NewID(), &NoAnswer{Name: "n2", Err: errors.New("connection reset")}
	late := pgerr.New(pgerr.CannotConnectNow, "the leader changed")
	for _, x := range []struct {
		what    string
		answers []error // of the requests to commit; the last counts for all that follow
		known   txn.Outcome
		code    string // "": committed
	}{
		{"the second request is answered", []error{silent, nil}, txn.InProgress, ""},
		{"the first has committed", []error{silent}, txn.Committed, ""},
		{"it was rolled back", []error{silent}, txn.Unknown, pgerr.CannotConnectNow},
		{"the leader has refused it", []error{late}, txn.InProgress, pgerr.CannotConnectNow},
	} {
		asked := 0
		commit := func(context.Context) (txn.Timestamp, error) {
			err := x.answers[min(asked, len(x.answers)-1)]
			asked++
			return 7, err
		}
		query := func(context.Context) (txn.Outcome, txn.Timestamp, error) { return x.known, 7, nil }
		C, err := commitUntilAnswered(t.Context(), id, commit, query)
		if x.code == "" && (C != 7 || err != nil) || x.code != "" && !pgerr.Is(err, x.code) {
			t.Errorf("%s: %d, %v", x.what, C, err)
		}
	}
	none := func(context.Context) (txn.Timestamp, error) { return 0, silent }
	lost := func(context.Context) (txn.Outcome, txn.Timestamp, error) { return txn.Unknown, 0, silent }
	if _, err := commitUntilAnswered(t.Context(), id, none, lost); !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		t.Errorf("no answer at all: %v", err)
	}
}
