package sql

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
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

// CopyFormat says how COPY data looks, for CopyInResponse and CopyOutResponse.
type CopyFormat struct {
	Binary  bool
	Columns int
}

// ResultWriter takes what statements produce, in order. pgwire sends it to the client; the command line tools and the tests collect it.
// A row is valid only during Row.
type ResultWriter interface {
	Describe(columns []stmt.Column) error
	Row(row []types.Datum) error
	Complete(tag string) error // "SELECT 3"
	EmptyQuery() error
	Notice(n *pgerr.Error) error
	Parameter(name, value string) error // a setting that is reported has changed
	// CopyIn asks the client for data; the reader gives the bytes of CopyData until CopyDone (io.EOF) or CopyFail (an error with 57014).
	CopyIn(f CopyFormat) (CopyReader, error)
	// CopyOut starts COPY TO; data follows by CopyData.
	CopyOut(f CopyFormat) error
	CopyData(data []byte) error
	CopyOutDone() error
}

// CopyReader gives the payload of one CopyData message at a time; io.EOF after CopyDone. The slice is valid until the next call.
type CopyReader interface {
	Next(ctx context.Context) ([]byte, error)
}

// StartupParams is what the client's StartupMessage says.
type StartupParams struct {
	User, Database string
	Settings       map[string]string // other parameters: application_name, client_encoding, options …
	Remote         string            // address of the client
	PID            uint32
	Secret         uint32
	Handle         Handle // how others end its statements, and itself
}

// The session's methods as pgwire calls them (implemented in session.go and its neighbours):
//
//	func (db *Server) NewSession(ctx context.Context, p StartupParams) (*Session, error)
//	func (s *Session) ReportedParameters() [][2]string                       // ParameterStatus at start
//	func (s *Session) Simple(ctx context.Context, text string, w ResultWriter) error
//	func (s *Session) Parse(ctx context.Context, name, text string, params []types.OID) error
//	func (s *Session) DescribeStatement(ctx context.Context, name string) (Description, error)
//	func (s *Session) Bind(ctx context.Context, portal, statement string, args []types.Datum) error
//	func (s *Session) DescribePortal(ctx context.Context, portal string) (Description, error)
//	func (s *Session) Execute(ctx context.Context, portal string, maxRows int, w ResultWriter) (suspended bool, err error) // no Describe; Complete unless suspended
//	func (s *Session) SyncFollows()                                          // before an Execute that Sync follows, as far as is known
//	func (s *Session) CloseStatement(name string) ; ClosePortal(name string)
//	func (s *Session) Sync(ctx context.Context) error                        // ends the implicit transaction of a pipeline
//	func (s *Session) FailPipeline()                                         // an error that pgwire itself found (decoding): the transaction fails
//	func (s *Session) Status() Status
//	func (s *Session) Env() *types.Env                                       // for encoding rows
//	func (s *Session) Notifications() []notify.Notification                      // before ReadyForQuery, and after Handle.Notify was called
//	func (s *Session) Close()
//	func (db *Server) Authenticate(user string) (verifier string, ok bool)   // SCRAM verifier, "" where no password is set
//	func (db *Server) Cancel(pid, secret uint32)
