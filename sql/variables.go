package sql

import (
	"maps"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/types"
)

// variables are a session's parameters: what was set for the session, and what transactions and savepoints will undo.
type variables struct {
	defaults     map[string]string // by lower-case name: startup packet, role and database settings, over the built-in defaults
	session      map[string]string
	undo         map[string][]saved              // what open transactions and savepoints have set, the innermost last
	placeholders map[string]bool                 // parameters of somebody's own that were set once: they stay known, and empty
	live         func(key string) (string, bool) // parameters that are states of the session; nil before it is there
	cluster      func(key string) (string, bool) // what ALTER SYSTEM has set; nil before the session is there
	given        map[string]string               // what follows from how the node was started
	plain        bool                            // the role is no superuser, and it is the client that sets
	started      bool                            // what is settled at the start is
}

// saved is what one level of nesting has done to a parameter. It follows PostgreSQL's stack of GUC values.
type saved struct {
	nest   int // 1 is the transaction, 2 its first savepoint, …
	action settingAction
	prior  *string // before this level; nil was unset
	masked *string // of setThenLocal: what SET gave, before SET LOCAL
}

type settingAction byte

const (
	setSession settingAction = iota
	setLocal
	setThenLocal
)

func newVariables() *variables {
	return &variables{defaults: map[string]string{}, session: map[string]string{}, undo: map[string][]saved{}, placeholders: map[string]bool{}}
}

// get gives the canonical value; ok is false for a parameter that does not exist.
func (v *variables) get(name string) (value string, ok bool) {
	key := strings.ToLower(name)
	if v.live != nil {
		if s, ok := v.live(key); ok {
			return s, true
		}
	}
	if s, ok := v.session[key]; ok {
		return s, true
	}
	if s, ok := v.defaults[key]; ok {
		return s, true
	}
	if d, ok := settings.Lookup(key); ok {
		if d.Context == "sighup" && v.cluster != nil {
			if s, ok := v.cluster(d.Name); ok {
				return s, true
			}
		}
		if s, ok := v.given[key]; ok {
			return s, true
		}
		return d.Default, true
	}
	return "", v.placeholders[key]
}

// show gives the value as SHOW prints it.
func (v *variables) show(name string) (string, bool) {
	s, ok := v.get(name)
	if !ok {
		return "", false
	}
	if d, known := settings.Lookup(name); known {
		return d.Show(s), true
	}
	return s, true
}

func unrecognized(name string) error {
	return pgerr.New(pgerr.UndefinedObject, `unrecognized configuration parameter "%s"`, name)
}

// check gives the canonical value of a parameter that a client may set.
func (v *variables) check(name, value string) (string, error) {
	d, ok := settings.Lookup(name)
	if !ok {
		if !strings.Contains(name, ".") || strings.HasPrefix(strings.ToLower(name), "sherd.") {
			return "", unrecognized(name)
		}
		return value, nil // a placeholder of somebody's own
	}
	switch d.Context {
	case "internal":
		return "", pgerr.New(pgerr.CantChangeRuntimeParam, `parameter "%s" cannot be changed`, d.Name)
	case "postmaster":
		return "", pgerr.New(pgerr.CantChangeRuntimeParam, `parameter "%s" cannot be changed without restarting the server`, d.Name)
	case "sighup":
		e := pgerr.New(pgerr.CantChangeRuntimeParam, `parameter "%s" cannot be changed now`, d.Name)
		if ddl.AltersSystem(d) {
			e = e.WithHint("It is for the whole cluster: ALTER SYSTEM SET %s = '…' changes it.", d.Name)
		}
		return "", e
	}
	if err := v.permitted(d); err != nil {
		return "", err
	}
	canonical, err := d.Check(value)
	if err != nil {
		return "", err
	}
	return checkMeaning(d.Name, canonical)
}

// permitted refuses a superuser's parameter to everybody else.
func (v *variables) permitted(d *settings.Definition) error {
	if v.plain && (d.Context == "superuser" || d.Context == "superuser-backend") {
		return pgerr.New(pgerr.InsufficientPrivilege, `permission denied to set parameter "%s"`, d.Name)
	}
	return nil
}

// changeable refuses what cannot be changed any more, or not by this session, to a reset too.
func (v *variables) changeable(key string) error {
	d, ok := settings.Lookup(key)
	switch {
	case !ok:
		return nil
	case v.started && (d.Context == "backend" || d.Context == "superuser-backend"):
		return pgerr.New(pgerr.CantChangeRuntimeParam, `parameter "%s" cannot be set after connection start`, d.Name)
	}
	return v.permitted(d)
}

// set changes a parameter; nil resets it. nest is how deep the session is in transactions: 0 is outside of any, where a change stays.
func (v *variables) set(name string, value *string, local bool, nest int) error {
	key := strings.ToLower(name)
	if err := v.changeable(key); err != nil {
		return err
	}
	known := v.placeholders[key]
	if value == nil {
		if _, ok := v.get(key); !ok {
			if _, err := v.check(name, ""); err != nil {
				return err
			}
		}
	} else {
		canonical, err := v.check(name, *value)
		if err != nil {
			return err
		}
		value = &canonical
	}
	if _, builtIn := settings.Lookup(key); !builtIn && !known {
		v.placeholders[key] = true
	}
	if nest > 0 {
		v.remember(key, local, nest)
	}
	v.put(key, value)
	return nil
}

// remember notes what a level is about to change.
func (v *variables) remember(key string, local bool, nest int) {
	list := v.undo[key]
	if n := len(list); n > 0 && list[n-1].nest == nest {
		top := &list[n-1]
		switch {
		case !local:
			top.action, top.masked = setSession, nil
		case top.action == setSession:
			top.action, top.masked = setThenLocal, v.current(key)
		}
		return
	}
	e := saved{nest: nest, prior: v.current(key)}
	if local {
		e.action = setLocal
	}
	v.undo[key] = append(list, e)
}

func (v *variables) current(key string) *string {
	if s, ok := v.session[key]; ok {
		return &s
	}
	return nil
}

func (v *variables) put(key string, value *string) {
	if value == nil {
		delete(v.session, key)
		return
	}
	v.session[key] = *value
}

// resetAll is RESET ALL.
func (v *variables) resetAll(nest int) {
	for key := range maps.Clone(v.session) {
		if nest > 0 {
			v.remember(key, false, nest)
		}
		delete(v.session, key)
	}
}

// end ends the levels from nest on. What was kept of the transaction stays, but for LOCAL values; what was kept of a savepoint becomes the
// level's around it. It tells whether anything changed back.
func (v *variables) end(kept bool, nest int) (changed bool) {
	for key, list := range v.undo {
		for n := len(list); n > 0 && list[n-1].nest >= nest; n = len(list) {
			top := list[n-1]
			list = list[:n-1]
			switch {
			case !kept:
				v.put(key, top.prior)
				changed = true
			case top.nest > 1:
				list = top.mergeInto(list, max(nest-1, 1))
			case top.action == setLocal:
				v.put(key, top.prior)
				changed = true
			case top.action == setThenLocal:
				v.put(key, top.masked)
				changed = true
			}
		}
		if v.undo[key] = list; len(list) == 0 {
			delete(v.undo, key)
		}
	}
	return changed
}

// mergeInto makes a released savepoint's entry one of the level around it.
func (e saved) mergeInto(list []saved, nest int) []saved {
	if n := len(list); n == 0 || list[n-1].nest < nest {
		e.nest = nest
		return append(list, e)
	}
	around := &list[len(list)-1]
	switch {
	case e.action == setSession:
		around.action, around.masked = setSession, nil
	case e.action == setThenLocal:
		around.action, around.masked = setThenLocal, e.masked
	case around.action == setSession:
		around.action, around.masked = setThenLocal, e.prior
	}
	return list
}

// checkMeaning refuses values of the right type that mean nothing, and those that are not supported.
func checkMeaning(name, value string) (string, error) {
	invalid := func() error {
		return pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": "%s"`, name, value)
	}
	switch name {
	case "TimeZone", "log_timezone":
		return checkTimeZone(name, value)
	case "client_encoding":
		switch strings.ToUpper(strings.NewReplacer("-", "", "_", "").Replace(strings.Trim(value, "'"))) {
		case "UTF8", "UNICODE":
			return "UTF8", nil
		case "SQLASCII":
			return "SQL_ASCII", nil
		}
		return "", pgerr.Unsupported("client encoding %q is not supported yet", value).WithHint("Use UTF8.")
	case "application_name":
		return printable(value), nil
	case "DateStyle":
		return canonicalDateStyle(value, invalid)
	case fragmentSetting:
		return strings.Join(fragmentList(value), ", "), nil
	}
	return value, nil
}

// printable makes an application's name fit for logs, as PostgreSQL does: ASCII, at most a name's length.
func printable(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '?'
		}
	}
	return string(b[:min(len(b), maxName)])
}

const maxName = 63 // bytes of an identifier

func canonicalDateStyle(value string, invalid func() error) (string, error) {
	style, order := "ISO", "MDY"
	for _, w := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		switch u := strings.ToUpper(w); {
		case u == "ISO" || u == "SQL":
			style = u
		case u == "GERMAN":
			style, order = "German", "DMY"
		case strings.HasPrefix(u, "POSTGRES"):
			style = "Postgres"
		case u == "MDY" || u == "US" || strings.HasPrefix(u, "NONEURO"):
			order = "MDY"
		case u == "DMY" || strings.HasPrefix(u, "EURO"):
			order = "DMY"
		case u == "YMD":
			order = "YMD"
		case u == "DEFAULT":
		default:
			return "", invalid()
		}
	}
	return style + ", " + order, nil
}

// environment makes the Env that follows from the settings, without Now.
func (v *variables) environment() types.Env {
	var e types.Env
	zone, _ := v.get("TimeZone")
	e.ZoneName = zone
	if loc, name, ok := types.LoadZone(zone); ok {
		e.Zone, e.ZoneName = loc, name
	}
	style, _ := v.get("DateStyle")
	first, second, _ := strings.Cut(style, ", ")
	e.DateFormat = map[string]types.DateFormat{"SQL": types.DateSQL, "Postgres": types.DatePostgres, "German": types.DateGerman}[first]
	e.DateOrder = map[string]types.DateOrder{"DMY": types.OrderDMY, "YMD": types.OrderYMD}[second]
	istyle, _ := v.get("IntervalStyle")
	e.IntervalFormat = map[string]types.IntervalFormat{
		"postgres_verbose": types.IntervalPostgresVerbose, "sql_standard": types.IntervalSQL, "iso_8601": types.IntervalISO,
	}[istyle]
	if digits, _ := v.get("extra_float_digits"); digits != "1" {
		e.ExtraFloatDigits = atoi(digits)
		e.LowFloatDigits = e.ExtraFloatDigits <= 0
	}
	out, _ := v.get("bytea_output")
	e.ByteaEscape = out == "escape"
	return e
}

// limits reads what bounds a statement.
func (v *variables) limits() exec.Limits {
	number := func(name string) int {
		s, _ := v.get(name)
		return atoi(s)
	}
	explicit, _ := v.get("sherd.explicit_buckets")
	return exec.Limits{
		MaxFanout: number("sherd.max_fanout"), FanoutNotice: number("sherd.fanout_notice"), ExplicitBuckets: explicit == "on",
	}
}

// queryMemory bounds what a query retains, in bytes. Nothing spills to disk yet, so the bound is wider than PostgreSQL's work_mem.
func (v *variables) queryMemory() int64 {
	s, _ := v.get("work_mem")
	return max(int64(atoi(s)), 256<<10) << 10
}

// searchPath lists the schemas of search_path as written, "$user" replaced.
func (v *variables) searchPath(user string) []string {
	value, _ := v.get("search_path")
	var out []string
	for _, name := range splitIdentifiers(value) {
		if name == "$user" {
			name = user
		}
		out = append(out, name)
	}
	return out
}

// splitIdentifiers splits a list of identifiers as SplitIdentifierString does: quoted ones keep their case.
func splitIdentifiers(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		var name string
		if s[0] == '"' {
			end := strings.IndexByte(s[1:], '"')
			if end < 0 {
				return out
			}
			name, s = s[1:1+end], s[2+end:]
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

func atoi(s string) int {
	n, neg := 0, strings.HasPrefix(s, "-")
	for _, c := range strings.TrimPrefix(s, "-") {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	if neg {
		return -n
	}
	return n
}
