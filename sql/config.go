package sql

import (
	"context"
	"log/slog"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
)

// Config is what a Server is built on.
type Config struct {
	Catalog   *catalog.Catalog
	Fragments session.Fragments
	Clock     *txn.Clock
	Logger    *slog.Logger
	Deadlocks *txn.Detector // sees the waits for rows too; nil: one of its own
	Addr      string        // the address for clients, HOST:PORT, as sherd.route returns it
	NodeName  string
	Block     string // ends ids that the server completes: orders/17-A
	// JoinToken makes a token that lets a new node in, or the token of the node with that number;
	// nil if there can be no other nodes.
	JoinToken func(ctx context.Context, life time.Duration, node uint32) (string, error)
	// RotateAuthority begins to replace the certificate authority of the nodes, and Authorities
	// lists the authorities; nil if there is none.
	RotateAuthority func(ctx context.Context) error
	Authorities     func(ctx context.Context) ([]sysview.Authority, error)

	// Given are parameters that follow from how the node was started, such as port, by lower-case
	// name.
	Given map[string]string

	Speaks uint32          // the newest version of the cluster that this program knows (V4), 0 is the first
	Others *session.Others // nil: there are none
	// TempDir is for files that statements need while they run; it is made when needed. "" means
	// the system's.
	TempDir string
	// QueryMemory replaces what the settings let a query retain, in bytes; 0: it does not. The
	// settings allow no limit that is small enough for a test.
	QueryMemory int64
}
