package sysview

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// source emits rows of a relation.
type source = func(b *builder) error

// Rows emits the rows of the relation schema.name, with all columns in order. A row is valid only
// during emit.
func Rows(name string, env *Env, emit func(Row) error) error {
	schema, bare, _ := strings.Cut(name, ".")
	rel := pgcatalog.RelationByName(schema, bare)
	if rel == nil {
		return pgerr.New(pgerr.UndefinedTable, `relation "%s" does not exist`, name)
	}
	src, known := sourceOf(schema, bare)
	if !known {
		return pgerr.Unsupported("%s is not supported yet", name)
	}
	if schema == pgCatalog && !made[bare] {
		for _, row := range staticRows(bare) {
			if err := emit(row); err != nil {
				return err
			}
		}
	}
	if src == nil {
		return nil
	}
	return src(newBuilder(env, rel, emit))
}

// sourceOf returns the source of a relation's non-static rows; nil if it only has static ones.
func sourceOf(schema, name string) (src source, known bool) {
	switch schema {
	case pgCatalog:
		if src, known = catalogSources()[name]; known {
			return src, true
		}
		return nil, static()[name] != nil || empty[name]
	case "information_schema":
		src, known = schemaSources()[name]
		return src, known || emptySchema[name]
	}
	src, known = sherdSources()[name]
	return src, known
}

// Supported reports whether Rows supports a relation.
func Supported(schema, name string) bool {
	_, known := sourceOf(schema, name)
	return known
}

// made are pg_catalog relations whose embedded rows are only input of the source, which emits all
// rows.
var made = map[string]bool{
	"pg_settings": true, "pg_namespace": true, "pg_timezone_names": true, "pg_language": true,
}

// fixedSources emit rows that are equal in every database, in addition to the embedded ones.
var fixedSources = map[string]source{
	"pg_class": sherdClass, "pg_attribute": fixedAttributes, "pg_proc": sherdProcs,
}

// catalogSources are the relations of pg_catalog whose rows depend on the database, the session or
// the cluster.
func catalogSources() map[string]source {
	return map[string]source{
		"pg_class":       pgClass,
		"pg_namespace":   pgNamespace,
		"pg_attribute":   pgAttribute,
		"pg_attrdef":     pgAttrdef,
		"pg_constraint":  pgConstraint,
		"pg_index":       pgIndex,
		"pg_rewrite":     pgRewrite,
		"pg_type":        pgType,
		"pg_enum":        pgEnum,
		"pg_proc":        pgProc,
		"pg_depend":      pgDepend,
		"pg_extension":   pgExtension,
		"pg_init_privs":  pgInitPrivs,
		"pg_shdepend":    pgShdepend,
		"pg_description": pgDescription, "pg_shdescription": pgShdescription,
		"pg_authid": pgAuthid, "pg_roles": pgRoles, "pg_user": pgUser, "pg_shadow": pgShadow, "pg_group": pgGroup,
		"pg_database": pgDatabase, "pg_db_role_setting": pgDBRoleSetting, "pg_settings": pgSettings,
		"pg_tables": pgTables, "pg_views": pgViews, "pg_matviews": pgMatviews, "pg_indexes": pgIndexes,
		"pg_timezone_names":      pgTimezoneNames,
		"pg_trigger":             pgTrigger,
		"pg_policy":              pgPolicy,
		"pg_policies":            pgPolicies,
		"pg_statistic":           pgStatistic,
		"pg_stats":               pgStats,
		"pg_statistic_ext":       pgStatisticExt,
		"pg_statistic_ext_data":  pgStatisticExtData,
		"pg_stats_ext":           pgStatsExt,
		"pg_stats_ext_exprs":     pgStatsExtExprs,
		"pg_stat_activity":       pgStatActivity,
		"pg_stat_database":       pgStatDatabase,
		"pg_prepared_statements": pgPreparedStatements,
		"pg_cursors":             pgCursors,
		"pg_auth_members":        pgAuthMembers,
		"pg_default_acl":         pgDefaultACL,
		"pg_language":            pgLanguage,
		"pg_prepared_xacts":      pgPreparedXacts,
		"pg_locks":               pgLocks,
		"pg_sequence":            pgSequence, "pg_sequences": pgSequences,
		"pg_statio_all_sequences":  statSequences(allTables),
		"pg_statio_user_sequences": statSequences(userTables),
		"pg_statio_sys_sequences":  statSequences(sysTables),
		"pg_stat_all_tables":       statTables(allTables),
		"pg_stat_user_tables":      statTables(userTables),
		"pg_stat_sys_tables":       statTables(sysTables),
		"pg_statio_all_tables":     statTables(allTables),
		"pg_statio_user_tables":    statTables(userTables),
		"pg_statio_sys_tables":     statTables(sysTables),
		"pg_stat_all_indexes":      statIndexes(allTables),
		"pg_stat_user_indexes":     statIndexes(userTables),
		"pg_stat_sys_indexes":      statIndexes(sysTables),
		"pg_statio_all_indexes":    statIndexes(allTables),
		"pg_statio_user_indexes":   statIndexes(userTables),
		"pg_statio_sys_indexes":    statIndexes(sysTables),
	}
}

// empty are relations of pg_catalog without rows, because Sherd has no such objects.
var empty = map[string]bool{
	"pg_event_trigger": true, "pg_available_extensions": true,
	"pg_available_extension_versions": true,
	"pg_foreign_data_wrapper":         true,
	"pg_foreign_server":               true,
	"pg_foreign_table":                true,
	"pg_user_mapping":                 true,
	"pg_user_mappings":                true,
	"pg_inherits":                     true,
	"pg_partitioned_table":            true,
	"pg_parameter_acl":                true,
	"pg_largeobject":                  true,
	"pg_largeobject_metadata":         true,
	"pg_publication":                  true,
	"pg_publication_namespace":        true,
	"pg_publication_rel":              true,
	"pg_publication_tables":           true,
	"pg_subscription":                 true,
	"pg_subscription_rel":             true,
	"pg_stat_subscription":            true,
	"pg_stat_subscription_stats":      true,
	"pg_replication_origin":           true,
	"pg_replication_origin_status":    true,
	"pg_replication_slots":            true,
	"pg_stat_replication_slots":       true,
	"pg_stat_replication":             true, "pg_stat_wal_receiver": true, "pg_rules": true,
	"pg_seclabel": true, "pg_seclabels": true, "pg_shseclabel": true,
	"pg_transform":                true,
	"pg_file_settings":            true,
	"pg_hba_file_rules":           true,
	"pg_ident_file_mappings":      true,
	"pg_stat_user_functions":      true,
	"pg_stat_xact_user_functions": true,
	"pg_stat_progress_analyze":    true,
	"pg_stat_progress_vacuum":     true,
	"pg_stat_progress_cluster":    true, "pg_stat_progress_create_index": true, "pg_stat_progress_basebackup": true,
	"pg_stat_database_conflicts": true,
}
