package sysview

import (
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/sql/types"
)

// Env is the environment from which rows are built.
type Env struct {
	Names
	Role     *privilege.Subject // the current role of the session; nil: none
	Types    *types.Env
	Started  time.Time // start of the server
	NodeName string
	// Setting returns the value of a parameter in its base unit, and its source
	// (pg_settings.source).
	Setting func(d *settings.Definition) (value, source string)
	// Reset returns the value that RESET would set.
	Reset func(d *settings.Definition) string
	Contents
	// Warn sends the client a warning about missing rows.
	Warn func(format string, args ...any)
	// SequenceValue returns the state of a sequence: its value, and whether nextval has returned
	// it.
	SequenceValue func(s *catalog.Table) (value int64, called bool, err error)
	// Hot has information about single documents and the statements that use them.
	Hot Hot
	// Sessions lists the sessions of all nodes.
	Sessions func() []Session
	// Replicas lists the replicas of all fragments that have a leader, Health the state of the
	// other nodes.
	Replicas func() []Replica
	Health   func() []Health
	// Heat lists the most used rows and buckets of all fragments.
	Heat func() []Heat
	// Authorities lists the authorities of the nodes' certificates.
	Authorities func() ([]Authority, error)
	// CatalogRoles returns the leader of the catalog, as far as this node knows, and its voters.
	CatalogRoles func() (leader uint32, voters []uint32)
	// Locks lists the locks of all kinds, Transactions the open transactions, on all nodes.
	Locks        func() ([]Lock, error)
	Transactions func() ([]Transaction, error)
	// Counters returns each node's counters of events in the databases since its start.
	Counters func() []Counters
	// Forwarded lists the former ids by which documents were found.
	Forwarded func() []Forwarded
	// Prepared lists the session's prepared statements, Cursors its open portals.
	Prepared func() []Prepared
	Cursors  func() []Cursor
	// PreparedTransactions lists the prepared transactions of all databases.
	PreparedTransactions func() ([]PreparedTransaction, error)

	warned map[uint32]bool // missing fragments that the client has been warned about
}

// Contents is what is known of the rows of tables.
type Contents struct {
	// Stats counts the rows of a storage id of a database (0 for all), by groups of neighbouring
	// buckets. missing has the fragments that do not respond.
	Stats func(d *catalog.Database, storageID uint32) (stats []Stat, missing map[uint32]bool, err error)
	// Totals returns what the fragments of the database have of all tables; an error: not all of them
	// answer.
	Totals func() ([]tablestats.Total, error)
	// Analyzed returns what the last ANALYZE of a table has stored; nil: there was none.
	Analyzed func(t *catalog.Table) *statistics.Table
}

// Hot has information about single documents and the statements that use them.
type Hot struct {
	// Split returns which documents of a table are split now, by their numbers in the table's
	// definition. A deleted document is not split.
	Split func(t *catalog.Table) (map[int32]bool, error)
	// Counters returns the counters to name in order to split a document of a bucket, none if the
	// table declares them. It returns an error if the document cannot be split.
	Counters func(t *catalog.Table, id string, bucket uint32) ([]string, error)
	// Fields returns the fields in the sampled statements that reach the buckets [from, to) of a
	// table, the most frequent first.
	Fields func(t *catalog.Table, from, to uint32) []string
	// SomeID returns the id of a document of a collection that lies in the buckets [from, to); ""
	// if there is none.
	SomeID func(t *catalog.Table, from, to uint32) (string, error)
	// Spreads reports whether sherd.replace_placement(…, spread => true) would change the ids of
	// many documents of a bucket.
	Spreads func(t *catalog.Table, bucket uint32) (bool, error)
}

// counted is Stats, and warns the client about missing fragments.
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
	Transaction  time.Time // zero outside of a transaction
	QueryStarted time.Time
	StateChanged time.Time
	State        string
	Query        string
	WaitType     string // the kind of a wait: Lock, Client; "" without a wait
	Wait         string
	Isolation    string
	TxnID        string // of the transaction, "" outside of one
	XID          uint32 // the id that clients see
	Writes       bool   // it has written
}

// Prepared is a row of pg_prepared_statements.
type Prepared struct {
	Name    string
	Text    string
	At      time.Time
	Params  []types.OID
	FromSQL bool
	// Executions with the plan that serves for all arguments, and with plans for their own.
	Generic, Custom int64
}

// Cursor is a row of pg_cursors.
type Cursor struct {
	Name     string
	Text     string
	At       time.Time
	Holdable bool

	Binary, Scrollable bool
}

// PreparedTransaction is a row of pg_prepared_xacts.
type PreparedTransaction struct {
	XID      uint32
	GID      string
	At       time.Time
	Role     catalog.OID
	Database catalog.OID
}
