package txn

import (
	"encoding/hex"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// PreparationRequest has the properties of a transaction that PREPARE TRANSACTION lets outlive its
// session.
type PreparationRequest struct {
	GID      string    // at most MaxGID bytes; unique in its database
	Owner    uint32    // role
	Database uint32    // OID
	At       time.Time // when it was prepared
	Floor    Timestamp // the largest timestamp that it read at and its session has seen: its commit is above it (T2)
}

// MaxGID is the length of the longest transaction identifier, PostgreSQL's GIDSIZE less its final
// zero.
const MaxGID = 199

// PreparedTransaction is a prepared transaction, which waits for COMMIT PREPARED or ROLLBACK
// PREPARED.
type PreparedTransaction struct {
	ID ID
	PreparationRequest
	Home      FragmentID   // the fragment that keeps its name
	Fragments []FragmentID // where it has writes or locks, its home included; ascending
	Tables    []uint32     // storage ids of the tables in which it has written or locked rows; ascending
}

// ParseID parses the result of ID.String.
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
