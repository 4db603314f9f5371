package session

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/admin"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/sequence"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// Node is what the sessions of a node share.
type Node struct {
	tx.Services // of transactions
	Fragments   Fragments
	Others      *Others // nil: there are none
	Deadlocks   *txn.Detector

	Name    string
	Address string // for clients, HOST:PORT
	Started time.Time
	TempDir string // for files that statements need while they run; "" is the system's
	// Given are parameters that follow from how the node was started, by lower-case name.
	Given map[string]string
	// QueryMemory replaces what the settings let a query retain, in bytes; 0: it does not.
	QueryMemory int64
	// Authorities lists the authorities of the nodes' certificates; nil if there is none.
	Authorities func(ctx context.Context) ([]sysview.Authority, error)

	Admin          admin.Cluster
	Cluster        monitor.Cluster
	IDs            *txblock.IDs
	Locks          *locks.Manager
	Monitor        *monitor.Node // makes the reports of this node
	Notifications  *notify.Hub   // delivers NOTIFY to the sessions of this node
	Prepared       *tx.PreparedTransactions
	Samples        stmt.Samples
	Sequences      *sequence.Allocator
	Sessions       Registry
	Statements     *stmt.Cache
	TransactionIDs monitor.TransactionIDs
}

// NewSession opens a session. Errors are fatal to the connection: 28000 role, 3D000 database.
func (n *Node) NewSession(ctx context.Context, p StartupParams) (s *Session, err error) {
	err = n.knownNames(ctx, func() error {
		s, err = n.openSession(p)
		return err
	})
	return s, err
}

func (n *Node) openSession(p StartupParams) (*Session, error) {
	view := n.Catalog.View()
	role := view.RoleByName(p.User)
	if role == nil {
		return nil, pgerr.New(pgerr.InvalidAuthorization, `role "%s" does not exist`, p.User)
	}
	if !role.Login {
		return nil, pgerr.New(pgerr.InvalidAuthorization, `role "%s" is not permitted to log in`, p.User)
	}
	name := p.Database
	if name == "" {
		name = p.User
	}
	database := view.DatabaseByName(name)
	if database == nil {
		return nil, pgerr.New(pgerr.InvalidCatalogName, `database "%s" does not exist`, name)
	}
	if privilege.Of(view, database.OID, role.OID).OnDatabase(database, acl.Connect) == 0 {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, `permission denied for database "%s"`, database.Name).
			WithDetail("User does not have CONNECT privilege.")
	}
	s := newSession(n, p, role.OID, database.OID)
	if err := s.vars.Start(settings.Startup{
		Role: role.Name, Superuser: role.Superuser,
		DatabaseSettings: database.Settings, RoleSettings: role.Settings, Packet: p.Settings,
	}); err != nil {
		return nil, err
	}
	if name, _ := s.vars.Get(roleSetting); name != noRole { // of ALTER ROLE … SET, or of the client
		if err := s.identity.check(s, roleSetting, name); err != nil {
			return nil, err
		}
	}
	s.named()
	s.rests()
	if err := n.Sessions.admit(s, role, database); err != nil {
		return nil, err
	}
	return s, nil
}

// ClusterSetting returns a value that ALTER SYSTEM has set.
func (n *Node) ClusterSetting(name string) (string, bool) {
	k := n.Catalog.View().Cluster()
	if k == nil {
		return "", false
	}
	value, ok := k.Settings[name]
	return value, ok
}

// health returns what this node knows of the other nodes.
func (n *Node) health() []sysview.Health {
	if n.Others != nil {
		return n.Others.Health()
	}
	return nil
}

// newestTimeout bounds how long CatchUp takes if the catalog's leader is out of reach.
const newestTimeout = time.Second

// CatchUp brings this node's catalog up to all definitions acknowledged before the call, if it can.
//
// A node learns of new definitions a moment after the node that made them has answered its client.
// A client that then connects to another node, as a connection pool does, may use a name that is
// not known there yet. So a session asks the catalog's leader before it reports that something does
// not exist or is not allowed. It uses what it finds without asking: the fragments refuse a plan
// made from definitions that are too old.
func (n *Node) CatchUp(ctx context.Context) {
	_ = n.knowsMore(ctx, 0)
}

// knowsMore is CatchUp, and reports whether the definitions now differ from version than. The
// caller reads that version before it looks for a name, because definitions may arrive in between.
func (n *Node) knowsMore(ctx context.Context, than uint64) bool {
	return n.Others != nil && n.Catalog.CatchUp(ctx, newestTimeout) == nil &&
		n.Catalog.View().DefinitionVersion() != than
}

// knownNames runs f. If f fails because it does not find a name, and the cluster knows newer
// definitions, it runs f once more; f undoes its own work when it fails.
func (n *Node) knownNames(ctx context.Context, f func() error) error {
	before := n.Catalog.View().DefinitionVersion()
	err := f()
	if err != nil && depends(err) && n.knowsMore(ctx, before) {
		err = f()
	}
	return err
}

// depends reports whether newer definitions may change the result of an error's statement.
func depends(err error) bool {
	switch pgerr.Code(err) {
	case pgerr.UndefinedTable, pgerr.UndefinedColumn, pgerr.UndefinedObject, pgerr.InvalidSchemaName,
		pgerr.InvalidCatalogName, pgerr.InvalidAuthorization, pgerr.InsufficientPrivilege:
		return true
	}
	return false
}

// Others reaches the other nodes of the cluster.
type Others struct {
	Self uint32 // this node's number
	// Snapshot asks a node for a snapshot that a transaction there has exported. ok is false if the
	// node knows no snapshot of that name. The error is 57P03 if the node does not answer.
	Snapshot func(ctx context.Context, node uint32, id string) (x tx.ExportedSnapshot, ok bool, err error)
	// Reports asks all nodes, and names those that did not answer.
	Reports func(ctx context.Context, wanted monitor.Wanted) ([]monitor.Report, []monitor.Absent)
	// Signal cancels the statement of a session of another node, or ends the session.
	Signal func(ctx context.Context, s monitor.Signal) (monitor.SignalResult, error)
	Health func() []sysview.Health
	// Say sends the notifications of a transaction to the other nodes, in order, and does not wait.
	// Heard waits until their notifications arrive here: LISTEN.
	Say   func([]notify.Notification)
	Heard func(ctx context.Context) error
	Locks *tx.LocksElsewhere
	// Advisory keeps the advisory locks of all nodes; nil means that each node has its own.
	Advisory *locks.Advisories
}
