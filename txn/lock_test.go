package txn

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func TestConflictsAreExplained(t *testing.T) {
	for _, c := range []struct {
		other           ID
		deleted         bool
		message, detail string
	}{
		{ID{15: 7}, false, "could not serialize access due to concurrent update",
			`Row \x6b was changed by transaction 7, which committed at 1970-01-01 00:00:00.000Z+5, after this transaction's snapshot of 1970-01-01 00:00:00.000Z+3.`},
		{ID{}, true, "could not serialize access due to concurrent delete",
			`Row \x6b was deleted by a transaction that committed at 1970-01-01 00:00:00.000Z+5, after this transaction's snapshot of 1970-01-01 00:00:00.000Z+3.`},
	} {
		err := fmt.Errorf("write: %w", NewConflict([]byte("k"), 5, 3, c.other, c.deleted))
		var conflict *ConflictError
		if e := pgerr.From(err); !errors.As(err, &conflict) || e.Code != pgerr.SerializationFailure ||
			e.Message != c.message || e.Detail != c.detail {
			t.Errorf("%+v", e)
		}
	}
	e := NewConflict([]byte("k"), 5, 3, ID{15: 7}, false)
	if got := e.Detail(
		"Row %s of %q", "(1)", "t",
	); got != `Row (1) of "t" was changed by transaction 7, which committed at 1970-01-01 00:00:00.000Z+5, after this transaction's snapshot of 1970-01-01 00:00:00.000Z+3.` {
		t.Error(got)
	}
}

// TestStrongerModesExcludeMore is what the queue of a row relies on.
func TestStrongerModesExcludeMore(t *testing.T) {
	for m := KeyShare; m < Update; m++ {
		for n := KeyShare; n <= Update; n++ {
			if m.Conflicts(n) && !(m+1).Conflicts(n) || m.Conflicts(n) != n.Conflicts(m) {
				t.Errorf("%s and %s", m, n)
			}
		}
	}
}
