package sql

import (
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Description is the answer to Describe for a prepared statement or portal.
type Description struct {
	Params  []types.OID
	Columns []stmt.Column // nil if it returns no rows
}

// StartupParams is the content of the client's StartupMessage.
type StartupParams struct {
	User, Database string
	Settings       map[string]string // other parameters: application_name, client_encoding, options …
	Remote         string            // address of the client
	PID            uint32
	Secret         uint32
	Handle         Handle // how others end its statements, and the session itself
}
