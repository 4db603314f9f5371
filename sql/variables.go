package sql

import (
	"maps"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/types"
)

// variables are a session's parameters: what was set for the session, and what this transaction will undo.
type variables struct {
	defaults map[string]string // by lower-case name: startup packet, role and database settings, over the built-in defaults
	session  map[string]string
	undo     map[string]*string // as of the transaction's start; nil was unset. LOCAL values and those of a rolled back transaction go back
	local    map[string]bool    // set with LOCAL in this transaction
	kept     map[string]*string // what a commit keeps of parameters that are LOCAL now: set before in the same transaction
}

func newVariables() *variables {
	return &variables{defaults: map[string]string{}, session: map[string]string{}, undo: map[string]*string{}, local: map[string]bool{}, kept: map[string]*string{}}
}

// get gives the canonical value; ok is false for a parameter that does not exist.
func (v *variables) get(name string) (value string, ok bool) {
	key := strings.ToLower(name)
	if s, ok := v.session[key]; ok {
		return s, true
	}
	if s, ok := v.defaults[key]; ok {
		return s, true
	}
	if d, ok := settings.Lookup(key); ok {
		return d.Default, true
	}
	return "", false
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
		return "", pgerr.New(pgerr.CantChangeRuntimeParam, `parameter "%s" cannot be changed now`, d.Name)
	}
	canonical, err := d.Check(value)
	if err != nil {
		return "", err
	}
	return checkMeaning(d.Name, canonical)
}

// set changes a parameter; nil resets it. It takes effect until the transaction is rolled back, or with local until it ends.
func (v *variables) set(name string, value *string, local, inTransaction bool) error {
	key := strings.ToLower(name)
	if value == nil {
		if _, ok := v.get(key); !ok {
			return unrecognized(name)
		}
	} else {
		canonical, err := v.check(name, *value)
		if err != nil {
			return err
		}
		value = &canonical
	}
	if inTransaction {
		v.remember(key)
		if !local {
			v.kept[key] = value
		}
		v.local[key] = local
	}
	v.put(key, value)
	return nil
}

func (v *variables) remember(key string) {
	if _, ok := v.undo[key]; ok {
		return
	}
	if old, ok := v.session[key]; ok {
		v.undo[key] = &old
	} else {
		v.undo[key] = nil
	}
}

func (v *variables) put(key string, value *string) {
	if value == nil {
		delete(v.session, key)
		return
	}
	v.session[key] = *value
}

// resetAll is RESET ALL.
func (v *variables) resetAll(inTransaction bool) {
	for key := range maps.Clone(v.session) {
		if inTransaction {
			v.remember(key)
		}
		delete(v.session, key)
	}
}

// end ends the transaction: a rollback undoes all, a commit only what was LOCAL. It tells whether anything changed back.
func (v *variables) end(committed bool) (changed bool) {
	for key, old := range v.undo {
		if !committed || v.local[key] {
			if set, ok := v.kept[key]; ok && committed {
				old = set
			}
			v.put(key, old)
			changed = true
		}
	}
	clear(v.kept)
	clear(v.undo)
	clear(v.local)
	return changed
}

// checkMeaning refuses values of the right type that mean nothing, and those that are not supported.
func checkMeaning(name, value string) (string, error) {
	invalid := func() error {
		return pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": "%s"`, name, value)
	}
	switch name {
	case "TimeZone", "log_timezone":
		if east, ok := zoneOffset(value); ok {
			_, name := types.FixedZone(east)
			return name, nil
		}
		if _, _, ok := types.LoadZone(value); !ok {
			return "", invalid()
		}
	case "client_encoding":
		switch strings.ToUpper(strings.NewReplacer("-", "", "_", "").Replace(strings.Trim(value, "'"))) {
		case "UTF8", "UNICODE":
			return "UTF8", nil
		case "SQLASCII":
			return "SQL_ASCII", nil
		}
		return "", pgerr.Unsupported("client encoding %q is not supported yet", value).WithHint("Use UTF8.")
	case "transaction_isolation", "default_transaction_isolation":
		if value != "repeatable read" {
			return "", pgerr.Unsupported("isolation level %q is not supported yet", value).
				WithHint("Transactions are REPEATABLE READ for now.")
		}
	case "application_name":
		return printable(value), nil
	case "idle_in_transaction_session_timeout", "idle_session_timeout":
		if value != "0" {
			return "", pgerr.Unsupported("%s is not supported yet", name).WithHint("Use 0, which is no time-out, or statement_timeout.")
		}
	case "DateStyle":
		return canonicalDateStyle(value, invalid)
	}
	return value, nil
}

// zoneOffset reads a zone given as hours east, "-5" or "5.5", or as the interval "+05:30"; in seconds.
func zoneOffset(value string) (east int, ok bool) {
	hours, minutes, isInterval := strings.Cut(value, ":")
	h, err := strconv.ParseFloat(hours, 64)
	if err != nil || h < -167 || h > 167 {
		return 0, false
	}
	east = int(h * 3600)
	if isInterval {
		m, err := strconv.Atoi(minutes)
		if err != nil || m < 0 || m > 59 {
			return 0, false
		}
		if strings.HasPrefix(hours, "-") {
			m = -m
		}
		east += m * 60
	}
	return east, true
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
