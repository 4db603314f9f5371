// Package catalog keeps the cluster's definitions: databases with their fragments and bucket maps, schemas, tables, roles, settings,
// nodes and jobs. It is a Raft state machine in memory; every node holds the whole of it.
//
// A reader takes a View, an immutable state reached by one atomic load; it holds no lock, and
// nothing that it holds ever changes. A writer plans a Change against a view and proposes it. A
// change is a batch of whole descriptors with the revision that each replaced object must have; it
// applies as a whole or is refused (a conflict, after which Update plans it again). So a
// statement's logic runs once, at the proposer, and the log has only its results (V3).
//
//	err := cat.Update(ctx, func(v *catalog.View, c *catalog.Change) error {
//		t := v.Table(oid).Clone()
//		t.Comment = "orders of customers"
//		return c.PutTable(t)
//	})
//
// On several nodes there is a replica on each; one leads, and up to five vote (voters.go). A change
// is planned on any node against the view there, is sent to the node that leads (Forward, Answer;
// lead.go), and the planning node waits for it. Requests are made so that they may be repeated,
// because an answer may be lost. Raft chooses the leader. Without a majority the views stay, also
// over a restart, because the disk has how far the log was applied (mark.go), and changes are
// refused with 57P03 after ten seconds.
//
// It never holds documents, never evaluates an expression (defaults and checks are text), and never talks to a fragment.
//
// Invariants:
//
//	C2  A write that was planned with another definition of its table than the leader's is
//	    planned again, not applied. A definition changes by steps (delete-only, write-only,
//	    public), and only two neighbouring steps are ever in use at once.
//	K1  A View is immutable, its descriptors and their slices and maps included; to change a
//	    descriptor, clone it.
//	K2  Applying an entry depends on its bytes and the state alone: no clock, no random
//	    number, no order of a Go map.
//	K3  Numbers of objects, fragments, nodes and jobs are never reused (V5). They are allotted
//	    by entries of their own, so a refused change or a crash leaves gaps. Authorities and
//	    join tokens are numbered by their hashes.
//	K4  Names are unique: databases and roles in the cluster, schemas in a database; tables,
//	    indexes, sequences and views share one namespace per schema, as in pg_class.
//	K5  References hold in every view: a table's schema, a schema's database, an owner, the
//	    fragments of a bucket map and their nodes, the table and the key that a foreign key
//	    refers to.
//	K6  A prepared change stays valid: what collides with it is refused until it is decided.
//	    So its decision cannot fail.
//	K7  A transaction that changes definitions and writes to fragments is decided by the
//	    catalog's log: the first decision counts, and a transaction that was never prepared or
//	    is forgotten is aborted. A commit is forgotten only after every writer has applied it.
//	    A transaction prepared by PREPARE TRANSACTION is decided by the log of its home
//	    (held.go).
//	K8  A replica shows only what was decided: after a restart what it had applied, then what
//	    a leader reports as decided.
//	K9  A step of a move flips the map at most once, and only while its job runs and the step
//	    was not aborted; an aborted step never does (flip.go).
//	K10 Each hashed table has the rules for prefixes that its database has (prefix.go).
//
// For transactions that changed definitions, the catalog can report for 15 minutes, over restarts,
// whether they committed (Recall): a change that is the whole of a transaction carries its id, and
// applies once.
//
// A rule of labels, of the database and of the fragment, says which nodes may have the replicas of
// a fragment; replicas follow it (zone.go). Pins keep buckets in fragments, for themselves or for
// the anchors that they name (anchors.go).
//
// For changes of policies, topology and placement it keeps the author, the time and the reason:
// 10,000 of them, for 90 days (record.go).
//
// ReadStopped reads what the replica of a stopped node knew, on a copy of its files.
//
// Formats: DATA/VERSION (V5) is text with a checksum; log entries and snapshots are a format byte
// and protobuf (V1, V4). A descriptor that uses a feature which the version of the cluster does not
// have yet is refused (brought.go, package clusterversion).
//
// Limits: the whole catalog is in memory on every node and in one snapshot file; an entry is at most raftgroup.MaxEntry bytes.
package catalog
