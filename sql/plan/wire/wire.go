package wire

import (
	"errors"
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/plan"
)

// Bounds of what is encoded and decoded.
const (
	MaxSize  = 64 << 20
	maxDepth = 20_000  // messages in messages
	maxParts = 4 << 20 // messages and list elements
)

// ErrNewer says that a plan has something in it that this release does not know.
var ErrNewer = errors.New("plan: it is of a newer release")

// VersionError says that a plan was made with another version of a table than the one here, and has to be made again.
type VersionError struct {
	Table      catalog.OID
	Want, Have uint64 // versions of its definition; 0: there is no such table here
	Catalog    uint64 // the version of the catalog here
}

// Error implements error.
func (e *VersionError) Error() string {
	if e.Have == 0 {
		return fmt.Sprintf("plan: table %d does not exist in version %d of the catalog", e.Table, e.Catalog)
	}
	return fmt.Sprintf("plan: it was made with version %d of table %d, which has version %d here", e.Want, e.Table, e.Have)
}

// Encode gives the bytes of a plan. An error that a client may see is a pgerr.Error; others say that the plan holds what no plan may hold.
func Encode(n plan.Node) ([]byte, error) {
	return encode(n, func(*catalog.Table) bool { return false })
}

// EncodeDrafted is Encode for a transaction that has changed definitions: tables that are not those of inForce, the view of the catalog that the
// changes are onto, go whole.
func EncodeDrafted(n plan.Node, inForce *catalog.View) ([]byte, error) {
	return encode(n, func(t *catalog.Table) bool { return inForce.Table(t.OID) != t })
}

// EncodeWhole is Encode with the definitions of all tables in it, so that the receiver's catalog need not have them.
func EncodeWhole(n plan.Node) ([]byte, error) {
	return encode(n, func(*catalog.Table) bool { return true })
}

// Settings gives the names of the settings that a plan asks for, to be sent with its tasks: what it asks by a name that is not constant runs at the
// gateway.
func Settings(n plan.Node) []string {
	e := &encoder{whole: func(*catalog.Table) bool { return false }}
	if err := e.plan(n); err != nil {
		return nil // nor can it be sent
	}
	return e.settings
}

func encode(n plan.Node, whole func(*catalog.Table) bool) ([]byte, error) {
	e := &encoder{whole: whole}
	if err := e.plan(n); err != nil {
		return nil, err
	}
	return e.buf[e.at:], nil
}

func tooComplex() error {
	return pgerr.New(pgerr.StatementTooComplex, "the statement's plan is too large to be sent to other nodes").
		WithHint("Pass long lists of values as one array parameter, or split the statement.")
}

// Decode reads a plan over the definitions of a view. The bytes are not kept. Errors are ErrNewer, a *VersionError, or say that the bytes are
// damaged (XX001).
func Decode(v *catalog.View, b []byte) (plan.Node, error) {
	if len(b) > MaxSize {
		return nil, damaged("it has %d bytes", len(b))
	}
	d := &decoder{view: v}
	return d.plan(b)
}

func damaged(format string, args ...any) error {
	return pgerr.New(pgerr.DataCorrupted, "a plan from another node is damaged: %s", fmt.Sprintf(format, args...))
}
