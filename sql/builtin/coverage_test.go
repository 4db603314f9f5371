package builtin

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// foreignNames are families of functions that this package does not aim at: index support, input
// and output, server administration.
var foreignNames = []string{
	"pg_stat_", "pg_ls_", "pg_replication_", "pg_logical_", "binary_upgrade_", "pg_create_", "pg_drop_", "lo_", "be_lo",
	"pg_backup_", "pg_wal",
	"pg_read_", "gist_", "gin_", "brin_", "spg_", "ts_", "txid_snapshot", "query_to_", "table_to_", "cursor_to_",
	"database_to_", "schema_to_",
	"xml", "xpath", "pg_walfile", "pg_switch_", "pg_current_wal", "pg_last_wal", "pg_get_wal", "pg_extension_",
	"pg_import_", "fmgr_", "hash",
	"btequalimage", "btvarstrequalimage", "pg_copy_", "pg_event_", "plpgsql", "pg_timezone", "like_support",
	"array_subscript_handler", "jsonb_subscript_handler",
	"raw_array_subscript", "window_", "ginarray", "gin", "gist", "network_", "inet_", "brin", "amvalidate",
	"generate_series_", "array_typanalyze", "pg_shmem",
}

// everyday are the types whose functions should exist.
var everyday = []uint32{
	types.Bool, types.Bytea, types.CharInternal, types.Name, types.Int8, types.Int2, types.Int4, types.Text, types.Oid,
	types.JSON, types.Float4,
	types.Float8, types.Unknown, types.BPChar, types.VarChar, types.Date, types.Time, types.Timestamp,
	types.TimestampTZ, types.Interval, types.TimeTZ,
	types.Bit, types.VarBit, types.Numeric, types.UUID, types.JSONB, types.JSONPath, types.Record, types.Any,
	types.AnyArray, types.AnyElement,
	types.AnyNonArray, types.AnyCompatible, types.AnyCompatibleArray, types.AnyCompatibleNonArray, types.Void,
	types.RegClass, types.RegType, types.RegRole,
	types.RegNamespace, types.TextArray, types.Int4Array, types.NameArray, types.Float8Array, types.IntervalArray,
	types.PgNodeTree, types.OidVector, types.OidArray,
}

func isEveryday(p *pgcatalog.Proc) bool {
	for _, prefix := range foreignNames {
		if strings.HasPrefix(p.Name, prefix) {
			return false
		}
	}
	for _, suffix := range []string{"in", "out", "recv", "send", "typmodin", "typmodout", "_transfn", "_finalfn",
		"_sortsupport", "sortsupport", "_support", "_extended", "hash", "_accum", "_accum_inv", "_combine",
		"_serialize", "_deserialize", "_subdiff", "sel", "joinsel"} {
		if strings.HasSuffix(p.Name, suffix) && !slices.Contains([]string{"asin", "sin", "min", "ascii_in", "dasin",
			"bit_in"}, p.Name) {
			return false
		}
	}
	for _, t := range append([]uint32{p.RetType}, p.ArgTypes...) {
		if !slices.Contains(everyday, t) {
			return false
		}
	}
	return true
}

// TestCoverage compares the list of everyday functions without implementation; it may only become
// shorter.
func TestCoverage(t *testing.T) {
	var missing []string
	pgcatalog.Procs(func(p *pgcatalog.Proc) {
		if !isEveryday(p) {
			return
		}
		if _, ok := For(p); !ok {
			key := p.Src
			if p.Kind == 'a' || p.Src == "" {
				key = sqlKey(p)
			}
			missing = append(missing, key)
		}
	})
	slices.Sort(missing)
	missing = slices.Compact(missing)
	got := strings.Join(missing, "\n") + "\n"
	const file = "testdata/missing.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the functions without implementation differ from %s (-rewrite):\n%s", file, got)
	}
}
