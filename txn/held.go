package txn

import (
	"encoding/hex"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// HoldRequest is what PREPARE TRANSACTION says of a transaction that is to outlive its session.
type HoldRequest struct {
	GID      string    // at most MaxGID bytes; one of a kind in its database
	Owner    uint32    // role
	Database uint32    // OID
	At       time.Time // when it was prepared
	Floor    Timestamp // the largest that it read at and its session has seen: its commit will be above it (T2)
}

// MaxGID is the length of the longest transaction identifier, PostgreSQL's GIDSIZE less its final zero.
const MaxGID = 199

// HeldTransaction is a prepared transaction that waits for COMMIT PREPARED or ROLLBACK PREPARED.
type HeldTransaction struct {
	ID ID
	HoldRequest
	Home      FragmentID   // where its name is kept
	Fragments []FragmentID // in which it holds writes or locks, its home among them; ascending
	Tables    []uint32     // storage ids of the tables to which it writes or has locked rows of; ascending
}

// ParseID reads what ID.String writes.
func ParseID(s string) (ID, error) {
	var id ID
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return ID{}, pgerr.New(pgerr.InvalidParameterValue, "invalid transaction id: %q", s).
			WithHint("A transaction id has 32 hexadecimal digits; errors of code 40003 name it.")
	}
	copy(id[:], b)
	return id, nil
}
