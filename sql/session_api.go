package sql

import (
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Description is what Describe tells of a prepared statement or portal.
type Description struct {
	Params  []types.OID
	Columns []stmt.Column // nil where it returns no rows
}

// Status is the transaction status of ReadyForQuery.
type Status byte

// Transaction states.
const (
	Idle          Status = 'I'
	InTransaction Status = 'T'
	Failed        Status = 'E'
)

// StartupParams is what the client's StartupMessage says.
type StartupParams struct {
	User, Database string
	Settings       map[string]string // other parameters: application_name, client_encoding, options …
	Remote         string            // address of the client
	PID            uint32
	Secret         uint32
	Handle         Handle // how others end its statements, and itself
}
