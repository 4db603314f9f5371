// Package clusterversion names the versions of a cluster and says what each brought to what is
// written to disk and sent between nodes.
//
// The catalog holds the version of the cluster. It is raised once all nodes run a release that
// knows a newer one (sherd.finalize_upgrade()), and never falls. Features of a version are not
// written before the cluster has it: a node of an older release would not understand them, and
// might not even notice. Users get an error (55000, catalog/features.go); the system itself writes
// the older form (Config.Version of package storage).
//
// # Invariants
//
//   - V1 All that is durable, and all that is sent between nodes, starts with a format byte or
//     number. A release reads every earlier format; golden files of each are in the repository.
//   - V2 A stored row names its columns by number, and numbers are never reused. A column with a
//     constant default is added, and a column dropped, in the catalog only.
//   - V3 Log entries carry results: keys, values and versions, never expressions or statements. So
//     replicas on different releases end with the same bytes.
//   - V4 Nodes speak, and write, what the version of the cluster allows. It is raised after all
//     nodes know the newer one, and never falls.
//   - V5 A data directory names its release, format, cluster and node, and an older release refuses
//     a newer format. Numbers of objects are 32 bits, from 16384, and never reused.
//
// A change that adds a kind of log entry, or a field of the catalog, names here the version that
// brings it: the one under development, or a new one if that has been released.
package clusterversion

// First is the version of clusters that were made by the first release.
const First uint32 = 1

// What version 2 brought.
const (
	// RangeTables: segments, buckets that are given out by number, and what lies in them.
	RangeTables uint32 = 2
	// SplitDocuments: counters of tables and the parts of documents that are split.
	SplitDocuments uint32 = 2
	// FormerIDs: forwarding entries, and the jobs that make them (those that spread documents among
	// them) and mend what refers to them.
	FormerIDs uint32 = 2
	// LabelRules: rules of labels of databases and fragments.
	LabelRules uint32 = 2
	// PinnedAnchors: pins that name the anchors that they are for.
	PinnedAnchors uint32 = 2
	// PrefixRules: rules for prefixes, and the buckets that ids under them lie in.
	PrefixRules uint32 = 2
	// ShortLists: the entries "receive" with an arrival and "watermark" that makes the list of
	// owned ranges shorter.
	ShortLists uint32 = 2
	// SweptEntries: the entry "sweep".
	SweptEntries uint32 = 2
	// RenewedSteps: steps of moves that go on by a second number.
	RenewedSteps uint32 = 2
	// ValidationJobs: validation of a policy as a job that the next leader of the catalog
	// continues.
	ValidationJobs uint32 = 2
	// ExactSizes: statistics in entries and checkpoints that name buckets.
	ExactSizes uint32 = 2
	// OperatorClasses: operator classes of indexes.
	OperatorClasses uint32 = 2
	// LostNodes: nodes that unsafe recovery declared lost. Older releases take them for nodes that
	// are drained.
	LostNodes uint32 = 2
	// OrderedIndexes: tasks that read indexes in both directions, and by bounds on several columns;
	// that sort and group rows that come in order; that change rows which several scans find.
	OrderedIndexes uint32 = 2
	// BatchedReads: tasks that read for many sets of outer values.
	BatchedReads uint32 = 2
	// RuntimeFilters: tasks that leave out rows by the keys of the other side of a join, and hash joins
	// that return the rows of the side that is built.
	RuntimeFilters uint32 = 2
	// TableStatistics: what ANALYZE stores in the catalog.
	TableStatistics uint32 = 2
	// StatisticsTargets: how much ANALYZE keeps of a column.
	StatisticsTargets uint32 = 2
	// ExtendedStatistics: statistics of several columns together.
	ExtendedStatistics uint32 = 2
	// Views: views of SQL.
	Views uint32 = 2
	// UserTypes: types of CREATE TYPE, and values of them.
	UserTypes uint32 = 2
	// Functions: functions and procedures of CREATE FUNCTION.
	Functions uint32 = 2
	// Triggers: triggers of tables and views.
	Triggers uint32 = 2
	// AccessMethods: indexes of the access methods hash, gin, brin and spgist.
	AccessMethods uint32 = 2
	// Privileges: access lists, and members of roles.
	Privileges uint32 = 2
	// RowSecurity: row policies of tables.
	RowSecurity uint32 = 2
)

// Newest is the newest version that this release knows.
const Newest uint32 = 2
