package sql

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// A job whose node, or another, has a clock that has jumped goes on later; what a person must mend ends it.
func TestLasting(t *testing.T) {
	now := time.Now()
	ahead := txn.NewClock(func() time.Time { return now }, 0).Check(txn.FromTime(now.Add(time.Hour)))
	if !txn.IsAhead(ahead) {
		t.Fatalf("a timestamp of an hour ahead: %v", ahead)
	}
	for err, want := range map[error]bool{
		ahead: false,
		pgerr.New(pgerr.InvalidParameterValue, "no such field"):     true,
		pgerr.New(pgerr.CannotConnectNow, "no leader at present"):   false,
		pgerr.New(pgerr.UniqueViolation, "duplicate key"):           true,
		pgerr.New(pgerr.SerializationFailure, "rows have moved on"): false,
	} {
		if got := lasting(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
