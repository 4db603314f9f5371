package sysview

import (
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/types"
)

// Env is what rows are built from.
type Env struct {
	Names
	Role     *catalog.Role // who asks
	Types    *types.Env
	Started  time.Time // of the server
	NodeName string
	// Setting gives the value of a parameter in its base unit, and where it comes from (pg_settings.source).
	Setting func(d *settings.Definition) (value, source string)
	// Reset gives the value that RESET would give.
	Reset func(d *settings.Definition) string
	// Stats counts the rows of a storage id of a database, of all for 0, by groups of neighbouring buckets. Fragments that do not answer are missing.
	Stats func(d *catalog.Database, storageID uint32) (stats []Stat, missing map[uint32]bool, err error)
	// Warn tells the client what the rows lack.
	Warn func(format string, args ...any)
	// SequenceValue tells where a sequence is, and whether that value has been given.
	SequenceValue func(s *catalog.Table) (value int64, called bool, err error)
	// Hot is what is known of single documents and of the statements that use them.
	Hot Hot
	// Sessions lists the sessions of all nodes.
	Sessions func() []Session
	// Replicas lists the replicas of all fragments that have a leader, Health what is known of the other nodes.
	Replicas func() []Replica
	Health   func() []Health
	// Heat lists what is used most in all fragments.
	Heat func() []Heat
	// Authorities lists the authorities of the nodes' certificates.
	Authorities func() ([]Authority, error)
	// CatalogRoles tells who leads the catalog, as far as is known here, and who votes in it.
	CatalogRoles func() (leader uint32, voters []uint32)
	// Locks lists the locks of all kinds, Transactions the open transactions, of all nodes.
	Locks        func() ([]Lock, error)
	Transactions func() ([]Transaction, error)
	// Counters counts what has happened in the databases, of each node since its start.
	Counters func() []Counters
	// Forwarded lists by which former ids documents were found.
	Forwarded func() []Forwarded
	// Prepared lists the session's prepared statements, Cursors its open portals.
	Prepared func() []Prepared
	Cursors  func() []Cursor
	// Held lists the prepared transactions of all databases.
	Held func() ([]Held, error)

	warned map[uint32]bool // fragments of which the client knows that they are not counted
}

// Hot is what is known of single documents and of the statements that use them.
type Hot struct {
	// Split tells which documents of a table with split ones, by their numbers there, are so now: one that was deleted is none.
	Split func(t *catalog.Table) (map[int32]bool, error)
	// Counters returns the counters to name when a document in a bucket is split, none if the table declares them. An error says why it cannot be split.
	Counters func(t *catalog.Table, id string, bucket uint32) ([]string, error)
	// Fields returns the fields that the sampled statements which reach the buckets [from, to) of a table name, most often named first.
	Fields func(t *catalog.Table, from, to uint32) []string
	// SomeID returns the id of a document of a collection that lies in the buckets [from, to); "" if there is none.
	SomeID func(t *catalog.Table, from, to uint32) (string, error)
	// Spreads reports whether sherd.replace_placement(…, spread => true) would change the ids of many
	// documents of a bucket.
	Spreads func(t *catalog.Table, bucket uint32) (bool, error)
}

// counted is Stats, and tells the client what is missing.
func (e *Env) counted(d *catalog.Database, storageID uint32) (stats []Stat, missing map[uint32]bool, err error) {
	stats, missing, err = e.Stats(d, storageID)
	for i := range d.Fragments {
		f := &d.Fragments[i]
		if !missing[f.ID] || e.warned[f.ID] {
			continue
		}
		if e.warned == nil {
			e.warned = map[uint32]bool{}
		}
		e.warned[f.ID] = true
		e.Warn("fragment %s does not answer: its documents are not counted", d.FragmentName(f))
	}
	return stats, missing, err
}

// Stat counts the documents of the buckets [From, To) of one table in one fragment.
type Stat struct {
	Fragment         uint32
	Table            uint32 // storage id
	From, To         uint32
	Documents, Bytes int64
}

// Session is a row of pg_stat_activity.
type Session struct {
	PID          uint32
	Database     catalog.OID
	Role         catalog.OID
	Application  string
	ClientHost   string
	ClientPort   int
	Started      time.Time
	Transaction  time.Time // zero outside of one
	QueryStarted time.Time
	StateChanged time.Time
	State        string
	Query        string
	WaitType     string // what a wait is for: Lock, Client; "" where there is none
	Wait         string
	Isolation    string
	TxnID        string // of the transaction, "" outside of one
	XID          uint32 // what clients see of it
	Writes       bool   // it has written something
}

// Prepared is a row of pg_prepared_statements.
type Prepared struct {
	Name    string
	Text    string
	At      time.Time
	Params  []types.OID
	FromSQL bool
}

// Cursor is a row of pg_cursors.
type Cursor struct {
	Name     string
	Text     string
	At       time.Time
	Holdable bool

	Binary, Scrollable bool
}

// Held is a row of pg_prepared_xacts.
type Held struct {
	XID      uint32
	GID      string
	At       time.Time
	Role     catalog.OID
	Database catalog.OID
}
