package monitor

import (
	"time"

	"github.com/sherddb/sherd/catalog"
)

// Signal cancels the statement of a session, or ends the session: pg_cancel_backend and
// pg_terminate_backend.
type Signal struct {
	PID       uint32
	Terminate bool
	Timeout   time.Duration // of the wait for the session's end; 0: it is not waited for
	Role      catalog.OID   // of the client that sends it
}

// SignalResult is the outcome of a Signal.
type SignalResult struct {
	Known bool // there is such a session
	Done  bool // false: it has not ended in time
}
