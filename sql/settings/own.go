package settings

import "slices"

// ServerVersion is the PostgreSQL release that Sherd presents itself as
// (docs/sql/compatibility.md).
const (
	ServerVersion    = "15.18"
	ServerVersionNum = "150018"
)

// presets are defaults that differ from the dumped ones.
var presets = [][2]string{
	{"server_version", ServerVersion}, {"server_version_num", ServerVersionNum},
	{"default_transaction_isolation", "read committed"}, {"transaction_isolation", "read committed"},
	{"TimeZone", "UTC"}, {"log_timezone", "UTC"}, {"DateStyle", "ISO, MDY"}, {"lc_messages", "C.UTF-8"},
	{"lc_monetary", "C.UTF-8"}, {"lc_numeric", "C.UTF-8"}, {"lc_time", "C.UTF-8"}, {"lc_collate", "C.UTF-8"},
	{"lc_ctype", "C.UTF-8"}, {"server_encoding", "UTF8"}, {"client_encoding", "UTF8"}, {"application_name", ""},
	{"work_mem", "65536"}, {"temp_buffers", "8192"}, {"is_superuser", "on"}, {"in_hot_standby", "off"}, {"jit", "off"},
	{"max_connections", "10000"}, {"max_prepared_transactions", "262143"}, {"port", "5433"},
	{"default_text_search_config", "pg_catalog.english"}, {"ssl", "off"}, {"max_identifier_length", "63"},
	{"session_authorization", "postgres"},
}

// OwnCategory is the category of Sherd's own parameters.
const OwnCategory = "Sherd"

// own are Sherd's parameters.
func own() []*Definition { return slices.Concat(ownOfSessions(), ownOfPlanner(), ownOfCluster()) }

// ownMethods begins the names of Sherd's parameters that switch off a way to run a step.
const ownMethods = "sherd.enable_"

// ownOfPlanner are those that switch off what PostgreSQL's planner has not, in tests above all.
func ownOfPlanner() []*Definition {
	method := func(name, description string) *Definition {
		return &Definition{
			Name: ownMethods + name, Type: "bool", Default: "on", Context: "user", Category: OwnCategory,
			Description: "Enables the planner's use of " + description + ".",
		}
	}
	return []*Definition{
		method("key_lookup", "lookups by primary key"),
		method("lookup_join", "joins that look up rows in batches"),
		method("local_join", "joins in the fragments"),
		method("batch", "reads for many rows at once"),
		method("runtime_filter", "filters of scans by the keys of the other side of a join"),
		method("local_aggregate", "aggregates in the fragments"),
	}
}

// ownOfSessions are those that a session may set, and those that nothing sets.
func ownOfSessions() []*Definition {
	return []*Definition{
		{Name: "sherd.version", Type: "string", Default: Version, Context: "internal", Category: OwnCategory,
			Description: "Shows the version of Sherd."},
		{Name: "sherd.explicit_buckets", Type: "bool", Default: "on", Context: "user", Category: OwnCategory,
			Description: "Allows clients to name a bucket in an id ($@n)."},
		{Name: "sherd.portable_dump", Type: "bool", Default: "off", Context: "user", Category: OwnCategory,
			Description: "Hides policies and Sherd's storage parameters from pg_catalog, " +
				"so that PostgreSQL can read what pg_dump writes."},
		{Name: "sherd.max_fanout", Type: "integer", Default: "0", Context: "user", Category: OwnCategory, minText: "0",
			maxText: "1048576", Max: 1048576, bounded: true,
			Description: "Refuses statements that would reach more fragments; 0 is no limit."},
		{Name: "sherd.fanout_notice", Type: "integer", Default: "0", Context: "user", Category: OwnCategory,
			minText: "0", maxText: "1048576", Max: 1048576, bounded: true,
			Description: "Warns of statements that reach more fragments; 0 is never."},
		{Name: "sherd.fragment", Type: "string", Context: "user", Category: OwnCategory,
			Description: "Restricts what statements read to the rows in a fragment, or in several " +
				"('orders$0, orders$1'); empty reads all."},
		{Name: "sherd.allow_partial", Type: "bool", Default: "off", Context: "user", Category: OwnCategory,
			Description: "Allows statements that only read to answer without the rows of fragments that cannot be " +
				"reached, with a warning."},
		{Name: "sherd.as_of", Type: "string", Context: "user", Category: OwnCategory,
			Description: "Makes transactions read the past, as of a time or an interval before now ('-10s'); " +
				"empty reads the present."},
		{Name: "sherd.read_staleness", Type: "integer", Default: "0", Unit: "ms", Context: "user",
			Category: OwnCategory, minText: "0", maxText: "86400000", Max: 86400000, bounded: true, zero: "off",
			Description: "Allows statements that only read to be served by the nearest replica, " +
				"from a state that is at most so old; 0 reads at the leaders."},
		{Name: "sherd.session_ts", Type: "string", Context: "user", Category: OwnCategory,
			Description: "Shows the newest state that the session has seen; set in another session, " +
				"that one sees at least as much."},
		{Name: "sherd.txn_scope", Type: "enum", Default: "cluster", Context: "user", Category: OwnCategory,
			Enum:        []string{"bucket", "fragment", "cluster"},
			Description: "Refuses transactions that write to more than one bucket, or more than one fragment."},
	}
}

// ownOfCluster are those that ALTER SYSTEM sets.
func ownOfCluster() []*Definition {
	return []*Definition{
		{Name: "sherd.gc_ttl", Type: "integer", Default: "900", Unit: "s", Context: "sighup", Category: OwnCategory,
			minText: "1", maxText: "2147483", Min: 1, Max: 2147483, bounded: true,
			Description: "Sets how long old versions of rows are kept."},
		{Name: "sherd.dead_node_after", Type: "integer", Default: "600", Unit: "s", Context: "sighup",
			Category: OwnCategory, minText: "0", maxText: "2147483", Max: 2147483, bounded: true,
			Description: "Sets how long a node may be silent before its replicas are replaced; 0 is for ever."},
		{Name: "sherd.balancer", Type: "enum", Default: "advise", Context: "sighup", Category: OwnCategory,
			Enum: []string{"off", "advise", "auto"},
			Description: "Sets whether moves of buckets between fragments of different sizes are proposed, " +
				"or made too."},
		{Name: "sherd.balancer_windows", Type: "string", Context: "sighup", Category: OwnCategory,
			Description: "Sets the times, in UTC, in which the balancer moves by itself " +
				"('mon-fri 22:00-06:00, sat 00:00-24:00'); empty is always."},
		{Name: "sherd.segment_size", Type: "integer", Default: "131072", Unit: "kB", Context: "sighup",
			Category: OwnCategory, minText: "0", maxText: "1073741824", Max: 1073741824, bounded: true, zero: "off",
			Description: "Sets how large segments of range tables may be before the balancer splits them; " +
				"neighbours that have less than half of it together become one. 0 is never."},
		{Name: "sherd.segment_writes", Type: "integer", Default: "2000", Context: "sighup", Category: OwnCategory,
			minText: "0", maxText: "2147483647", Max: 2147483647, bounded: true, zero: "off",
			Description: "Sets how many rows of a segment of a range table may be written per second before the " +
				"balancer splits it; 0 is never."},
		{Name: "sherd.auto_finalize_upgrade", Type: "bool", Default: "on", Context: "sighup", Category: OwnCategory,
			Description: "Finalizes an upgrade once all nodes run the new release; " +
				"off waits for sherd.finalize_upgrade(), and until then there is a way back."},
		{Name: "sherd.move_rate", Type: "integer", Default: "131072", Unit: "kB", Context: "sighup",
			Category: OwnCategory, minText: "0", maxText: "2147483647", Max: 2147483647, bounded: true,
			Description: "Sets how much the moves of a node carry per second; 0 is no limit."},
		{Name: "sherd.concurrent_moves", Type: "integer", Default: "4", Context: "sighup", Category: OwnCategory,
			minText: "1", maxText: "1000", Min: 1, Max: 1000, bounded: true,
			Description: "Sets how many moves of buckets go on at a time in the cluster."},
		{Name: "sherd.move_max_delay", Type: "integer", Default: "100", Unit: "ms", Context: "sighup",
			Category: OwnCategory, minText: "0", maxText: "2147483647", Max: 2147483647, bounded: true,
			Description: "Sets how slow commits may be, the slowest of a hundred, before moves stop for them; " +
				"0 is never."},
		{Name: "sherd.replace_rate", Type: "integer", Default: "5000", Context: "sighup", Category: OwnCategory,
			minText: "0", maxText: "2147483647", Max: 2147483647, bounded: true,
			Description: "Sets how many documents or rows per second sherd.replace_placement and " +
				"sherd.rewrite_references write; 0 is no limit."},
		{Name: "sherd.validate_rate", Type: "integer", Default: "50000", Context: "sighup", Category: OwnCategory,
			minText: "0", maxText: "2147483647", Max: 2147483647, bounded: true,
			Description: "Sets how many documents per second sherd.start_validation looks at; 0 is no limit."},
		{Name: "sherd.replace_dead_nodes", Type: "enum", Default: "auto", Context: "sighup", Category: OwnCategory,
			Enum:        []string{"auto", "advise"},
			Description: "Says whether the replicas of a dead node are replaced, or sherd.advice proposes it."},
		{Name: "sherd.max_row_size", Type: "integer", Default: "16", Unit: "MB", Context: "sighup",
			Category: OwnCategory, minText: "1", maxText: "256", Min: 1, Max: 256, bounded: true,
			Description: "Sets the largest size of a row."},
	}
}

// Version is the version of Sherd.
const Version = "0.2.0"

// Banner is the result of version().
const Banner = "PostgreSQL " + ServerVersion + " (Sherd " + Version + ")"
