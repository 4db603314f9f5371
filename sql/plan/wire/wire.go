package wire

import (
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/plan"
)

// Bounds for encoding and decoding.
const (
	MaxSize  = 64 << 20
	maxDepth = 20_000  // messages in messages
	maxParts = 4 << 20 // messages and list elements
)

// ErrNewer means that a plan contains something that this release does not know. It is an error for
// the client (0A000).
var ErrNewer error = pgerr.Unsupported(
	"the plan of the statement contains a step, a function or a value that another node does not know",
).WithHint("Upgrade all nodes to the same release.")

// VersionError means that a plan was made with another version of a table than the one here, and
// has to be made again.
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
	return fmt.Sprintf("plan: it was made with version %d of table %d, which has version %d here", e.Want,
		e.Table, e.Have)
}

// Encode returns the bytes of a plan. If the error is one that a client may see, it is a
// pgerr.Error; other errors mean that the plan contains something that no plan may contain.
func Encode(n plan.Node) ([]byte, error) {
	return encode(n, func(*catalog.Table) bool { return false })
}

// EncodeDrafted is Encode for a transaction that has changed definitions. inForce is the view of
// the catalog before these changes; the plan contains the full definitions of tables that differ
// from it.
func EncodeDrafted(n plan.Node, inForce *catalog.View) ([]byte, error) {
	return encode(n, func(t *catalog.Table) bool { return inForce.Table(t.OID) != t })
}

// EncodeWhole is Encode with the definitions of all tables in the plan, so that the receiver's
// catalog need not have them.
func EncodeWhole(n plan.Node) ([]byte, error) {
	return encode(n, func(*catalog.Table) bool { return true })
}

// Settings returns the names of the settings that a plan reads, so that they can be sent with its
// tasks. A call whose setting has no constant name runs at the gateway.
func Settings(n plan.Node) []string {
	e := &encoder{whole: func(*catalog.Table) bool { return false }}
	if err := e.plan(n); err != nil {
		return nil // it cannot be sent either
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

// Decode reads a plan over the definitions of a view. It does not keep the bytes. The error is
// ErrNewer, a *VersionError, or XX001 if the bytes are damaged.
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
