package stmt

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// Column describes a result column, as RowDescription does.
type Column struct {
	Name   string
	Table  uint32 // OID; 0: it is not a plain column
	AttNum int16
	Type   types.OID
	Typmod int32
	Len    int16 // pg_type.typlen
	// Declared is the domain of a column whose Type is the base type; 0 for all others.
	Declared types.OID
	Binary   bool // a simple query returns it in the binary format: it comes from a BINARY cursor
}

// TextColumn returns a column of type text, of a statement that is not a query.
func TextColumn(name string) Column { return Column{Name: name, Type: types.Text, Typmod: -1, Len: -1} }

// ResultWriter takes what statements produce, in order. pgwire sends it to the client; the command line tools and the
// tests collect it. A row is valid only during Row.
type ResultWriter interface {
	Describe(columns []Column) error
	Row(row []types.Datum) error
	Complete(tag string) error // "SELECT 3"
	EmptyQuery() error
	Notice(n *pgerr.Error) error
	Parameter(name, value string) error // a setting that is reported has changed
	// CopyIn asks the client for data. The reader returns the bytes of CopyData until CopyDone (io.EOF) or CopyFail
	// (an error with 57014).
	CopyIn(f CopyFormat) (CopyReader, error)
	// CopyOut starts COPY TO; data follows by CopyData.
	CopyOut(f CopyFormat) error
	CopyData(data []byte) error
	CopyOutDone() error
}

// CopyFormat is the format of COPY data, for CopyInResponse and CopyOutResponse.
type CopyFormat struct {
	Binary  bool
	Columns int
}

// CopyReader returns the payload of one CopyData message at a time; io.EOF after CopyDone. The slice is valid until the
// next call.
type CopyReader interface {
	Next(ctx context.Context) ([]byte, error)
}
