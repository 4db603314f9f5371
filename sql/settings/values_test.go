package settings

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

func started(t *testing.T, packet map[string]string) *Values {
	t.Helper()
	v := NewValues(Sources{User: "ann"})
	if err := v.Start(Startup{Role: "ann", Packet: packet}); err != nil {
		t.Fatal(err)
	}
	return v
}

func set(t *testing.T, v *Values, name, value string, local bool, nest int) {
	t.Helper()
	if err := v.Set(name, &value, local, nest); err != nil {
		t.Fatalf("SET %s = %s: %v", name, value, err)
	}
}

func wantShow(t *testing.T, v *Values, name, want string) {
	t.Helper()
	if got, err := v.Show(name); err != nil || got != want {
		t.Errorf("SHOW %s: %q, %v; want %q", name, got, err, want)
	}
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var e *pgerr.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestLayers sets each parameter in one layer more than the one before.
func TestLayers(t *testing.T) {
	v := NewValues(Sources{
		User:        "ann",
		State:       func(key string) (string, bool) { return "state", key == "transaction_isolation" },
		Cluster:     func(name string) (string, bool) { return "60", name == "sherd.gc_ttl" },
		CommandLine: map[string]string{"port": "7000", "sherd.gc_ttl": "30"},
	})
	if err := v.Start(Startup{
		Role: "ann", Superuser: true,
		DatabaseSettings: map[string]string{"work_mem": "1MB", "lock_timeout": "1s", "statement_timeout": "1s"},
		RoleSettings:     map[string]string{"lock_timeout": "2s", "statement_timeout": "2s"},
		Packet:           map[string]string{"statement_timeout": "3s"},
	}); err != nil {
		t.Fatal(err)
	}
	set(t, v, "DateStyle", "german", false, 0)
	for _, c := range []struct{ name, shown, source string }{
		{"seq_page_cost", "1", "default"},
		{"port", "7000", "command line"},
		{"sherd.gc_ttl", "1min", "configuration file"},
		{"work_mem", "1MB", "client"},
		{"lock_timeout", "2s", "client"},
		{"statement_timeout", "3s", "client"},
		{"session_authorization", "ann", "client"}, {"role", "none", "default"},
		{"is_superuser", "on", ""},
		{"datestyle", "German, DMY", "session"},
		{"Transaction_Isolation", "state", "override"},
	} {
		wantShow(t, v, c.name, c.shown)
		d, builtIn := Lookup(c.name)
		if !builtIn { // not in pg_settings either
			continue
		}
		if _, source := v.Source(d); source != c.source {
			t.Errorf("%s comes from %s, want %s", c.name, source, c.source)
		}
	}
}

// TestLevels sets a parameter in a transaction and its savepoints. A step is one of: set or local
// at a depth, commit or rollback from a depth on.
func TestLevels(t *testing.T) {
	type step struct {
		do    string
		nest  int
		value string
	}
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"committed":          {[]step{{"set", 1, "1"}, {"commit", 1, ""}}, "1"},
		"rolled back":        {[]step{{"set", 1, "1"}, {"rollback", 1, ""}}, "0"},
		"local, committed":   {[]step{{"local", 1, "1"}, {"commit", 1, ""}}, "0"},
		"set, then local":    {[]step{{"set", 1, "1"}, {"local", 1, "2"}, {"commit", 1, ""}}, "1"},
		"local, then set":    {[]step{{"local", 1, "1"}, {"set", 1, "2"}, {"commit", 1, ""}}, "2"},
		"savepoint undone":   {[]step{{"set", 1, "1"}, {"set", 2, "2"}, {"rollback", 2, ""}}, "1"},
		"savepoint released": {[]step{{"set", 2, "2"}, {"commit", 2, ""}, {"commit", 1, ""}}, "2"},
		"local in savepoint": {[]step{{"set", 1, "1"}, {"local", 2, "2"}, {"commit", 2, ""}, {"commit", 1, ""}},
			"1"},
		"local seen outside": {[]step{{"local", 2, "2"}, {"commit", 2, ""}}, "2"},
		"set over local": {[]step{{"local", 1, "1"}, {"set", 2, "2"}, {"commit", 2, ""}, {"commit", 1, ""}},
			"2"},
		"released, then undone": {[]step{{"set", 2, "2"}, {"commit", 2, ""}, {"rollback", 1, ""}}, "0"},
		"both levels undone":    {[]step{{"set", 1, "1"}, {"set", 3, "3"}, {"rollback", 1, ""}}, "0"},
		"reset, rolled back":    {[]step{{"set", 0, "5"}, {"reset", 1, ""}, {"rollback", 1, ""}}, "5"},
		"reset all, committed":  {[]step{{"set", 0, "5"}, {"reset", 1, ""}, {"commit", 1, ""}}, "0"},
	} {
		v := started(t, nil)
		for _, s := range c.steps {
			switch s.do {
			case "set", "local":
				set(t, v, "lock_timeout", s.value, s.do == "local", s.nest)
			case "reset":
				v.ResetAll(s.nest)
			default:
				v.End(s.do == "commit", s.nest)
			}
		}
		if got, _ := v.Get("lock_timeout"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestStart(t *testing.T) {
	v := started(t, map[string]string{
		"options":     `-c lock_timeout=5s --application-name=my\ app -cDateStyle=SQL`,
		"replication": "off",
	})
	wantShow(t, v, "lock_timeout", "5s")
	wantShow(t, v, "application_name", "my app")
	wantShow(t, v, "DateStyle", "SQL, MDY")
	wantShow(t, v, "is_superuser", "off")
	for range 20 { // the order of a map is another one each time
		v := started(t, map[string]string{"options": "-c application_name=first", "application_name": "second"})
		wantShow(t, v, "application_name", "second")
	}
	for _, c := range []struct{ name, value, code string }{
		{"options", "x", pgerr.SyntaxError},
		{"options", "-c nothing=1", pgerr.UndefinedObject},
		{"log_min_messages", "debug1", pgerr.InsufficientPrivilege},
		{"client_encoding", "LATIN1", pgerr.FeatureNotSupported},
	} {
		err := NewValues(Sources{}).Start(Startup{Role: "ann", Packet: map[string]string{c.name: c.value}})
		wantCode(t, c.name+"="+c.value, err, c.code)
	}
	trusted := Startup{Role: "ann", RoleSettings: map[string]string{"log_min_messages": "debug1"}}
	if err := NewValues(Sources{}).Start(trusted); err != nil {
		t.Error("a superuser's parameter, set by ALTER ROLE:", err)
	}
}

func TestRefusals(t *testing.T) {
	v := started(t, nil)
	for name, code := range map[string]string{
		"server_version":        pgerr.CantChangeRuntimeParam,
		"max_connections":       pgerr.CantChangeRuntimeParam,
		"sherd.gc_ttl":          pgerr.CantChangeRuntimeParam,
		"ignore_system_indexes": pgerr.CantChangeRuntimeParam, // of the start
		"log_min_messages":      pgerr.InsufficientPrivilege,
		"nothing":               pgerr.UndefinedObject,
		"sherd.nothing":         pgerr.UndefinedObject,
		"TimeZone":              pgerr.InvalidParameterValue,
		"DateStyle":             pgerr.InvalidParameterValue,
	} {
		value := "nonsense"
		wantCode(t, name, v.Set(name, &value, false, 0), code)
	}
	_, err := v.Show("my.own")
	wantCode(t, "SHOW my.own", err, pgerr.UndefinedObject)
	set(t, v, "my.own", "x", false, 1)
	v.End(false, 1)
	wantShow(t, v, "my.own", "") // it stays known
}

func TestReport(t *testing.T) {
	v := started(t, nil)
	if n := len(v.Report()); n != len(reported) {
		t.Errorf("%d parameters are sent at the start, want %d", n, len(reported))
	}
	set(t, v, "work_mem", "1MB", false, 1)
	set(t, v, "application_name", "é", false, 1)
	if got, want := v.Report(), [][2]string{{"application_name", "??"}}; !slices.Equal(got, want) {
		t.Errorf("after SET: %v, want %v", got, want)
	}
	if got := v.Report(); len(got) != 0 {
		t.Errorf("sent twice: %v", got)
	}
	v.End(false, 1)
	if got, want := v.Report(), [][2]string{{"application_name", ""}}; !slices.Equal(got, want) {
		t.Errorf("after ROLLBACK: %v, want %v", got, want)
	}
}

func TestDerive(t *testing.T) {
	v := started(t, nil)
	before := v.Derive()
	if before.Version != v.Version() || before.Memory != (memory.Limits{Query: 256 << 20, Work: 64 << 20, Hash: 128 << 20, Files: -1}) ||
		before.LogAfter >= 0 || before.Idle != 0 {
		t.Errorf("defaults: %+v", before)
	}
	for name, value := range map[string]string{
		"TimeZone": "europe/berlin", "DateStyle": "SQL, DMY", "IntervalStyle": "iso_8601", "extra_float_digits": "-3",
		"bytea_output": "escape", "work_mem": "1GB", "idle_session_timeout": "2s",
		"idle_in_transaction_session_timeout": "3s",
	} {
		set(t, v, name, value, false, 0)
	}
	d := v.Derive()
	e := d.Base
	if e.ZoneName != "Europe/Berlin" || e.DateFormat != types.DateSQL || e.DateOrder != types.OrderDMY ||
		e.IntervalFormat != types.IntervalISO || e.ExtraFloatDigits != -3 || !e.LowFloatDigits || !e.ByteaEscape {
		t.Errorf("how values are printed: %+v", e)
	}
	if d.Memory != (memory.Limits{Query: 4 << 30, Work: 1 << 30, Hash: 2 << 30, Files: -1}) ||
		d.Idle != 2*time.Second || d.IdleInTransaction != 3*time.Second {
		t.Errorf("limits: %+v", d)
	}
	if d.Version == before.Version || d.Analysis == before.Analysis {
		t.Error("SET did not change the version, or what analysis depends on")
	}
}

func TestSearchPath(t *testing.T) {
	v := started(t, nil)
	set(t, v, "search_path", `"$user", Public, "My schema"`, false, 0)
	if got, want := v.SearchPath(), []string{"ann", "public", "My schema"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestClusterWide(t *testing.T) {
	for name, want := range map[string]bool{
		"sherd.gc_ttl": true, "sherd.balancer": true, "sherd.max_row_size": false, "sherd.as_of": false, "port": false,
		"autovacuum": true, "autovacuum_naptime": true, "autovacuum_vacuum_threshold": false,
	} {
		if d, _ := Lookup(name); d.ClusterWide() != want {
			t.Errorf("ALTER SYSTEM SET %s: %v, want %v", name, !want, want)
		}
	}
}

func TestSplitIdentifiers(t *testing.T) {
	for list, want := range map[string][]string{
		``:                           nil,
		`a, B ,"C"`:                  {"a", "b", "C"},
		`"a, b", "say ""hi"""`:       {"a, b", `say "hi"`},
		`"$user", public`:            {"$user", "public"},
		`a, "not closed`:             {"a"},
		`a, "closed by two quotes""`: {"a"},
	} {
		if got := splitIdentifiers(list); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}
