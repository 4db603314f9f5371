package pgcatalog

import (
	"strings"
	"testing"
	"time"
)

func TestLookups(t *testing.T) {
	start := time.Now()
	if p := ProcByOID(177); p == nil || p.Name != "int4pl" || p.Src != "int4pl" || p.RetType != 23 ||
		len(p.ArgTypes) != 2 {
		t.Fatalf("int4pl: %+v", p)
	}
	t.Logf("loaded in %v", time.Since(start))
	if p := ProcByOID(3305); len(p.Defaults) != 1 || p.Defaults[0] != "true" || p.ArgNames[3] != "create_if_missing" {
		t.Errorf("jsonb_set: %+v", p)
	}
	if n := len(ProcsByName("bucket")); n != 4 {
		t.Errorf("%d functions bucket", n)
	}
	if o := OperatorFor("+", 23, 23); o == nil || o.Proc != 177 {
		t.Errorf("int4 + int4: %+v", o)
	}
	if c := CastBetween(23, 20); c == nil || c.Context != 'i' || c.Method != 'f' {
		t.Errorf("int4 to int8: %+v", c)
	}
	if ElementOf(1007) != 23 || ElementOf(19) != 0 || ArrayOf(25) != 1009 {
		t.Error("arrays")
	}
	if n, ok := NamespaceName(11); !ok || n != "pg_catalog" {
		t.Error("namespace 11")
	}
}

func TestRelations(t *testing.T) {
	rel := RelationByName("pg_catalog", "pg_class")
	if rel == nil || rel.OID != 1259 || rel.Columns[1].Name != "relname" || rel.Columns[1].Type != 19 {
		t.Fatalf("pg_class: %+v", rel)
	}
	if RelationByName("information_schema", "columns") == nil || RelationByName("sherd", "bucket_map") == nil {
		t.Error("views")
	}
	seen := map[uint32]bool{}
	for _, r := range Relations() {
		if seen[r.OID] {
			t.Errorf("OID %d twice", r.OID)
		}
		seen[r.OID] = true
	}
}

func TestSortOps(t *testing.T) {
	for typ, want := range map[uint32]uint32{23: 23, 25: 25, 1043: 25, 1007: 2277, 2205: 26, 16: 16, 2249: 2249,
		3802: 3802} {
		s := SortOpsOf(typ)
		if s == nil || s.Type != want || s.Lt == nil || s.Le == nil || s.Eq == nil || s.Ge == nil || s.Gt == nil {
			t.Errorf("%s: %+v", FormatType(typ, -1), s)
		}
	}
	if SortOpsOf(114) != nil || SortOpsOf(199) != nil {
		t.Error("json has no order")
	}
}

func TestFormatType(t *testing.T) {
	for _, c := range []struct {
		oid    uint32
		typmod int32
		want   string
	}{
		{23, -1, "integer"}, {1007, -1, "integer[]"}, {1043, 24, "character varying(20)"},
		{1015, 24, "character varying(20)[]"},
		{1700, 655366, "numeric(10,2)"}, {1184, 3, "timestamp(3) with time zone"}, {1042, -1, "character"},
		{18, -1, `"char"`},
		{22, -1, "int2vector"}, {30, -1, "oidvector"}, {2205, -1, "regclass"}, {1186, 0x7fff<<16 | 3, "interval(3)"},
		{0, -1, "-"},
	} {
		if got := FormatType(c.oid, c.typmod); got != c.want {
			t.Errorf("%d %d: %q, want %q", c.oid, c.typmod, got, c.want)
		}
	}
}

func TestEveryFileLoads(t *testing.T) {
	entries, err := files.ReadDir("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		rows := 0
		if err := Scan(name, func([]string, []Cell) error { rows++; return nil }); err != nil || rows == 0 {
			t.Errorf("%s: %d rows, %v", name, rows, err)
		}
	}
}
