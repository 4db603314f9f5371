// Package catalog keeps the cluster's definitions: databases with their fragments and bucket maps, schemas, tables, roles, settings,
// nodes and jobs. It is a Raft state machine in memory; every node holds the whole of it.
//
// Readers take a View, an immutable state reached by one atomic load; no lock is held and nothing a reader holds ever changes.
// Writers plan a Change against a view and propose it. A change is a batch of whole descriptors with the revision that each replaced
// object must have; it applies as a whole or is refused (a conflict, which Update plans anew). So a statement's logic runs once, at
// the proposer, and the log carries only its results (V3).
//
//	err := cat.Update(ctx, func(v *catalog.View, c *catalog.Change) error {
//		t := v.Table(oid).Clone()
//		t.Comment = "orders of customers"
//		return c.PutTable(t)
//	})
//
// On several nodes there is a replica on each; one leads, up to five decide (voters.go). A change is planned anywhere against the view there, goes to
// the node that leads (Forward, Answer; lead.go), and is waited for here. Requests are made so that they may be repeated: an answer may be lost.
// Who leads is chosen by Raft; without a majority the views stay, also over a restart, since how far the log was applied is on disk (mark.go), and
// changes are refused with 57P03 after ten seconds.
//
// It never holds documents, never evaluates an expression (defaults and checks are text), and never talks to a fragment.
//
// Invariants:
//
//	K1  A View is immutable, its descriptors and their slices and maps included; who wants to change one clones it.
//	K2  Applying an entry depends on its bytes and the state alone: no clock, no random number, no order of a Go map.
//	K3  Numbers of objects, fragments, nodes and jobs are never reused (V5). They are allotted by entries of their own, so a refused
//	    change or a crash leaves gaps. Authorities and join tokens are numbered by their hashes.
//	K4  Names are unique: databases and roles in the cluster, schemas in a database; tables, indexes, sequences and views share one
//	    namespace per schema, as in pg_class.
//	K5  References hold in every view: a table's schema, a schema's database, an owner, the fragments
//	    of a bucket map and their nodes, the table and the key that a foreign key refers to.
//	K6  A prepared change stays valid: what collides with it is refused until it is decided. So its decision cannot fail.
//	K7  A transaction that changes definitions and writes to fragments is decided by the catalog's log: the first decision counts, and what
//	    was never prepared or is forgotten is aborted. A commit is forgotten only after every writer has applied it. One that PREPARE
//	    TRANSACTION holds is decided by the log of its home (held.go).
//	K8  A replica shows only what was decided: after a restart what it had applied, then what a leader tells it was.
//	K9  A step of a move flips the map at most once, and only while its job runs and it was not aborted; an aborted one never does (flip.go).
//	K10 Each hashed table has the rules for prefixes that its database has (prefix.go).
//
// Of transactions that changed definitions it tells for 15 minutes whether they committed, over restarts (Recall): a change that is the whole
// of a transaction carries its id, and applies once.
//
// Which nodes may have the replicas of a fragment is a rule of labels, of the database and of the fragment; replicas follow it (zone.go). Pins keep buckets in
// fragments, for themselves or for the anchors they name (anchors.go).
//
// Of changes of policies, topology and placement it keeps who, when and why: 10,000 of them, for 90 days (record.go).
//
// ReadStopped reads what the replica of a node that is stopped knew, on a copy of its files.
//
// Formats: DATA/VERSION (V5) is text with a checksum; log entries and snapshots are a format byte and protobuf (V1, V4). A descriptor that uses what the version of the
// cluster does not have yet is not put (brought.go, package clusterversion).
//
// Limits: the whole catalog is in memory on every node and in one snapshot file; an entry is at most raftgroup.MaxEntry bytes.
package catalog
