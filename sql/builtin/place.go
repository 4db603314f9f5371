package builtin

import "github.com/sherddb/sherd/sql/pgcatalog"

// Place is where a function may be called: in the fragment that has the rows, whose node only knows
// what each task contains about the session (Ctx.Env, IdentityInfo, settings by name), or only at
// the gateway. The planner keeps calls of the latter kind above the Gather.
type Place uint8

// Places.
const (
	// Anywhere is for functions of their arguments and Ctx.Env.
	Anywhere Place = iota + 1
	// AnywhereNamed is for functions that read the setting that their first argument names: they
	// run anywhere if it is a constant.
	AnywhereNamed
	// AtGatewayOnce is for functions whose result does not change during a statement, whatever
	// their volatility is: if the arguments are constant, one call is enough.
	AtGatewayOnce
	// AtGateway is for functions that read or change the session, its transaction, its node, or the
	// catalog.
	AtGateway
)

// PlaceOf returns the place of a function; AtGateway if it is not implemented.
func PlaceOf(p *pgcatalog.Proc) Place {
	if p.Language != "" {
		return AtGateway
	}
	if at, ok := placeIndex[keyOf(p)]; ok {
		return at
	}
	return AtGateway
}

// family has functions of one kind. at is 0 if they have different places.
type family struct {
	funcs map[string]Func
	at    Place
}

// setFamily has set-returning functions of one kind.
type setFamily struct {
	funcs map[string]SetFunc
	at    Place
}

// ownPlaces has the places of functions in families of mixed kind, and of exceptions in others.
var ownPlaces = map[Place][]string{
	Anywhere: {
		// Each task contains user, database and time.
		"pgsql_version", "current_database", "current_user", "session_user", "current_schema", "current_schemas",
		"pg_backend_pid",
		"inet_client_addr", "inet_server_addr", "inet_client_port", "inet_server_port", "now",
		// All nodes have a clock, a source of randomness, and can sleep.
		"clock_timestamp", "timeofday", "gen_random_uuid", "pg_sleep", "pg_sleep_for(1186)", "pg_sleep_until(1184)",
		"pg_is_in_recovery", "pg_is_wal_replay_paused", "pg_jit_available", "pg_my_temp_schema",
		"pg_is_other_temp_schema",
		"pg_size_pretty", "pg_size_pretty_numeric", "pg_size_bytes", "PG_encoding_to_char", "PG_char_to_encoding",
		"pg_encoding_max_length_sql",
		"getdatabaseencoding", "pg_client_encoding", "pg_column_size", "pg_num_nulls", "pg_num_nonnulls",
		"sherd_bucket", "sherd_slice", "sherd_placed", "pg_typeof",
		"pg_options_to_table", "pg_partition_ancestors", "pg_partition_tree", "pg_tablespace_databases",
		"pg_stats_ext_mcvlist_items",
	},
	AnywhereNamed: {"show_config_by_name", "show_config_by_name_missing_ok"},
	AtGatewayOnce: {
		"currval_oid", "lastval", "current_query", "statement_timestamp", "pg_postmaster_start_time",
		"pg_conf_load_time",
		"pg_current_xact_id", "pg_current_xact_id_if_assigned", "pg_current_snapshot", "pg_trigger_depth",
	},
	AtGateway: {
		"set_config_by_name", "drandom", "setseed", "nextval_oid", "setval_oid", "setval3_oid",
		"pg_sequence_last_value", "pg_sequence_parameters",
		"pg_notify", "pg_notification_queue_usage", "pg_listening_channels",
		"pg_relation_size", "pg_relation_size(2205)", "pg_table_size", "pg_indexes_size", "pg_total_relation_size",
		"pg_tablespace_size_oid", "pg_tablespace_size_name", "pg_database_size_oid", "pg_database_size_name",
	},
}

// placeIndex has every function's place by key. It is built once and then read-only.
var placeIndex = buildPlaces()

func buildPlaces() map[string]Place {
	m := make(map[string]Place, len(index))
	for _, f := range tables {
		for name := range f.funcs {
			if f.at != 0 {
				m[name] = f.at
			}
		}
	}
	for _, f := range setTables {
		for name := range f.funcs {
			if f.at != 0 {
				m[name] = f.at
			}
		}
	}
	for name := range windowFuncs {
		m[name] = Anywhere
	}
	for name := range aggregates {
		m["aggregate "+name] = Anywhere
	}
	for at, names := range ownPlaces {
		for _, name := range names {
			m[name] = at
		}
	}
	return m
}
