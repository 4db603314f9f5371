package schemachange

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// TestIsPermanent checks that a job is tried again after a clock has jumped, and ends with an error
// that a person has to fix.
func TestIsPermanent(t *testing.T) {
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
		if got := isPermanent(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
