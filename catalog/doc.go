// Package catalog keeps the cluster's definitions: databases with their fragments and bucket maps,
// schemas, tables, roles, settings, nodes and jobs. It is a Raft state machine in memory; every
// node has all of it.
//
// A reader takes a View, an immutable state, by one atomic load. It holds no lock, and a view never
// changes. A writer plans a Change against a view and proposes it. A change is a batch of whole
// descriptors, each with the revision that the replaced object must have. It is applied as a whole
// or refused as a conflict, after which Update plans it again. So the logic of a statement runs
// once, at the proposer, and the log contains only its results (V3).
//
//	_, err := cat.Update(ctx, func(v *catalog.View, c *catalog.Change) error {
//		t := v.Table(oid).Clone()
//		t.Comment = "orders of customers"
//		return c.PutTable(t)
//	})
//
// In a cluster every node has a replica; one leads, and up to five vote (voters.go). A change is
// planned on any node against that node's view and sent to the leader (Forward, Answer; lead.go);
// the planning node waits until its view has the change. A request may be repeated, because an
// answer may be lost. Without a majority the views stay, also over a restart, because the disk
// records how far the log was applied (mark.go); changes are refused with 57P03 after ten seconds.
//
// The catalog never stores documents, never evaluates an expression (defaults and checks are text),
// and never sends a request to a fragment.
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
//	    indexes, sequences and views share one namespace per schema, as in pg_class; types
//	    and row types another, as in pg_type.
//	K5  Every reference in a view leads to an object in the view: a table's schema, a schema's
//	    database, an owner, the fragments of a bucket map and their nodes, the table and the
//	    key that a foreign key refers to, the types that a table uses.
//	K6  A prepared change stays valid: changes that collide with it are refused until it is
//	    decided. So its decision cannot fail.
//	K7  A transaction that changes definitions and writes to fragments is decided by the
//	    catalog's log: the first decision counts, and a transaction that was never prepared or
//	    is forgotten is aborted. A commit is forgotten only after every writer has applied it.
//	    A transaction prepared by PREPARE TRANSACTION is decided by the log of its
//	    coordinator fragment (prepared_change.go).
//	K8  A replica shows only committed entries: after a restart those that it had applied,
//	    then those that a leader reports as committed.
//	K9  A step of a move flips the map at most once, and only while its job runs and the step
//	    was not aborted; an aborted step never does (flip.go).
//	K10 Each hashed table has the rules for prefixes that its database has (prefix.go).
//
// For 15 minutes, also over restarts, the catalog can report whether a transaction that changed
// definitions has committed (CommitOf). A change that is a whole transaction has its id, and is
// applied once.
//
// Labels required by the database and by the fragment restrict which nodes may have the replicas of
// a fragment; replicas move accordingly (zone.go). A pin keeps buckets in a fragment. It either
// pins the buckets themselves or lists the anchors that it is for (anchors.go).
//
// The catalog records the author, time and reason of changes of policies, topology, placement,
// nodes and settings: 10,000 records, for 90 days (record.go).
//
// ReadStopped reads the catalog of a stopped node, from a copy of its files.
//
// Formats: DATA/VERSION (V5) is text with a checksum; log entries and snapshots are a format byte
// and protobuf (V1, V4). A descriptor that uses a feature which the version of the cluster does not
// have yet is refused (features.go, package clusterversion).
//
// Limits: the whole catalog is in memory on every node and in one snapshot file; an entry has at
// most raftgroup.MaxEntry bytes.
package catalog
