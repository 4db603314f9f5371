package settings

import (
	"strconv"
	"strings"
	"time"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// Derived holds the settings that each statement needs, in the form in which it needs them. It is
// valid while the values' version is Version.
type Derived struct {
	Version  uint64
	Base     types.Env // how values are read and printed, without Now and names of objects
	Memory   memory.Limits
	Analysis string // the settings that analysis depends on: user, search path, form of literals
	LogAfter time.Duration
	// PlanCacheMode says when statements with parameters are planned for their arguments.
	PlanCacheMode string
	// Time-outs for a client that is silent, outside and inside of transactions; 0: none.
	Idle, IdleInTransaction time.Duration
}

// Derive returns the Derived of the values.
func (v *Values) Derive() Derived {
	d := Derived{
		Version: v.version, Base: v.environment(), Memory: v.memory(),
		LogAfter: v.Milliseconds("log_min_duration_statement"),
		Idle:     v.Milliseconds("idle_session_timeout"),

		PlanCacheMode:     v.text("plan_cache_mode"),
		IdleInTransaction: v.Milliseconds("idle_in_transaction_session_timeout"),
	}
	d.Analysis = v.sources.User
	for _, name := range []string{"search_path", "TimeZone", "DateStyle", "IntervalStyle", "row_security"} {
		d.Analysis += "\x00" + v.text(name)
	}
	return d
}

func (v *Values) text(name string) string {
	s, _ := v.Get(name)
	return s
}

// On reports whether a parameter of type bool is on.
func (v *Values) On(name string) bool { return v.text(name) == "on" }

// Number returns a parameter of type integer, in its base unit.
func (v *Values) Number(name string) int {
	n, _ := strconv.Atoi(v.text(name))
	return n
}

// Milliseconds returns a parameter that is a time in ms.
func (v *Values) Milliseconds(name string) time.Duration {
	return time.Duration(v.Number(name)) * time.Millisecond
}

func (v *Values) environment() types.Env {
	var e types.Env
	zone := v.text("TimeZone")
	e.ZoneName = zone
	if loc, name, ok := types.LoadZone(zone); ok {
		e.Zone, e.ZoneName = loc, name
	}
	style, order, _ := strings.Cut(v.text("DateStyle"), ", ")
	e.DateFormat = map[string]types.DateFormat{
		"SQL": types.DateSQL, "Postgres": types.DatePostgres, "German": types.DateGerman,
	}[style]
	e.DateOrder = map[string]types.DateOrder{"DMY": types.OrderDMY, "YMD": types.OrderYMD}[order]
	e.IntervalFormat = map[string]types.IntervalFormat{
		"postgres_verbose": types.IntervalPostgresVerbose,
		"sql_standard":     types.IntervalSQL,
		"iso_8601":         types.IntervalISO,
	}[v.text("IntervalStyle")]
	if digits := v.Number("extra_float_digits"); digits != 1 {
		e.ExtraFloatDigits = digits
		e.LowFloatDigits = digits <= 0
	}
	e.ByteaEscape = v.text("bytea_output") == "escape"
	return e
}

// leastMemory is what a query may retain however small work_mem is: work_mem bounds only operations
// that can write files, and several of them may run at once.
const leastMemory = 256 << 20

// memory returns what a query may use. As in PostgreSQL, each operation may retain work_mem before
// it writes files, or, if it keeps a hash table, hash_mem_multiplier times as much.
func (v *Values) memory() memory.Limits {
	work := int64(v.Number("work_mem")) << 10
	multiplier, _ := strconv.ParseFloat(v.text("hash_mem_multiplier"), 64)
	files := int64(v.Number("temp_file_limit"))
	if files > 0 {
		files <<= 10
	}
	return memory.Limits{
		Query: max(4*work, leastMemory), Work: work, Hash: int64(float64(work) * max(multiplier, 1)), Files: files,
	}
}

// SearchPath is SearchPathOf for the user of the session's start.
func (v *Values) SearchPath() []string { return v.SearchPathOf(v.sources.User) }

// SearchPathOf lists the schemas of search_path as written, with "$user" replaced by a role.
func (v *Values) SearchPathOf(user string) []string {
	var out []string
	for _, name := range splitIdentifiers(v.text("search_path")) {
		if name == "$user" {
			name = user
		}
		out = append(out, name)
	}
	return out
}

// splitIdentifiers splits a list of identifiers as SplitIdentifierString does: quoted ones keep
// their case, and two quotes in them are one.
func splitIdentifiers(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		var name string
		if s[0] == '"' {
			var ok bool
			if name, s, ok = quotedIdentifier(s[1:]); !ok {
				return out
			}
		} else {
			end := strings.IndexByte(s, ',')
			if end < 0 {
				end = len(s)
			}
			name, s = strings.ToLower(strings.TrimSpace(s[:end])), s[end:]
		}
		out = append(out, name)
		s = strings.TrimPrefix(strings.TrimSpace(s), ",")
	}
	return out
}

// quotedIdentifier reads an identifier behind its first quote; ok is false if its last one is
// missing.
func quotedIdentifier(s string) (name, rest string, ok bool) {
	for {
		end := strings.IndexByte(s, '"')
		if end < 0 {
			return "", "", false
		}
		name += s[:end]
		if s = s[end+1:]; !strings.HasPrefix(s, `"`) {
			return name, s, true
		}
		name += `"`
		s = s[1:]
	}
}
