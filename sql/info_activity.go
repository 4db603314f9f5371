package sql

import (
	"encoding/binary"
	"strconv"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TransactionID implements builtin.ActivityInfo: transactions have ids of 128 bits, of which this shows 62.
func (i info) TransactionID(bool) (id uint64, ok bool, err error) {
	if i.tx == nil || i.tx.parts == nil {
		return 0, false, nil
	}
	n := i.tx.parts.ID()
	return binary.BigEndian.Uint64(n[len(n)-8:])>>2 | 1<<61, true, nil
}

// Snapshot implements builtin.ActivityInfo: a snapshot is a timestamp, so nothing is in progress within it.
func (i info) Snapshot() string {
	var at uint64
	if i.tx != nil {
		at = uint64(i.tx.t)
	}
	n := strconv.FormatUint(at, 10)
	return n + ":" + n + ":"
}

// CancelBackend implements builtin.ActivityInfo.
func (i info) CancelBackend(pid int32, terminate bool) (bool, error) {
	name := "pg_cancel_backend"
	if terminate {
		name = "pg_terminate_backend"
	}
	return false, pgerr.Unsupported("%s is not supported yet", name).WithHint("Cancel through the client: it sends a cancel request.")
}
