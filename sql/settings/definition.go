package settings

import (
	"strconv"
	"strings"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// Definition is a parameter.
type Definition struct {
	Name        string
	Type        string // bool, integer, real, string, enum
	Default     string
	Unit        string // of integers and reals: kB, 8kB, MB, B, ms, s, min; "" is none
	Category    string
	Description string
	Context     string // user, superuser, backend, superuser-backend, sighup, postmaster, internal
	Min, Max    float64
	bounded     bool
	zero        string // a word that stands for 0
	Enum        []string
	minText     string
	maxText     string
	identity    bool // it names a role of the session, and is not listed
}

// Bounds returns min_val and max_val as pg_settings shows them.
func (d *Definition) Bounds() (lo, hi string) { return d.minText, d.maxText }

type registry struct {
	byName map[string]*Definition
	list   []*Definition
}

var all = sync.OnceValue(func() *registry {
	r := &registry{byName: map[string]*Definition{}}
	err := pgcatalog.Scan("pg_settings", func(columns []string, row []pgcatalog.Cell) error {
		d := &Definition{}
		for i, c := range columns {
			d.set(c, row[i].Text)
		}
		r.add(d)
		return nil
	})
	if err != nil {
		panic("settings: embedded data: " + err.Error()) // the binary itself is damaged
	}
	for i := range presets {
		if d := r.byName[strings.ToLower(presets[i][0])]; d != nil {
			d.Default = presets[i][1]
		}
	}
	for _, d := range own() {
		r.add(d)
	}
	for _, name := range []string{"role", "session_authorization"} {
		r.byName[name] = &Definition{Name: name, Type: "string", Default: "none", Context: "user", identity: true}
	}
	return r
})

func (r *registry) add(d *Definition) {
	r.byName[strings.ToLower(d.Name)] = d
	r.list = append(r.list, d)
}

func (d *Definition) set(column, v string) {
	switch column {
	case "name":
		d.Name = v
	case "vartype":
		d.Type = v
	case "boot_val":
		d.Default = v
	case "unit":
		d.Unit = v
	case "category":
		d.Category = v
	case "short_desc":
		d.Description = v
	case "context":
		d.Context = v
	case "min_val":
		d.minText = v
		d.Min, _ = strconv.ParseFloat(v, 64)
	case "max_val":
		d.maxText = v
		d.Max, _ = strconv.ParseFloat(v, 64)
		d.bounded = v != ""
	case "enumvals":
		if v = strings.Trim(v, "{}"); v != "" {
			d.Enum = strings.Split(strings.ReplaceAll(v, `"`, ""), ",")
		}
	}
}

// Lookup finds a parameter by name, in any case.
func Lookup(name string) (*Definition, bool) {
	d, ok := all().byName[strings.ToLower(name)]
	return d, ok
}

// All lists the parameters.
func All() []*Definition { return all().list }

// Check returns the canonical form of a value, as SHOW would print it in the parameter's base unit,
// or 22023.
func (d *Definition) Check(value string) (string, error) {
	switch d.Type {
	case "bool":
		b, ok := ParseBool(value)
		if !ok {
			return "", pgerr.New(pgerr.InvalidParameterValue, `parameter "%s" requires a Boolean value`, d.Name)
		}
		return map[bool]string{true: "on", false: "off"}[b], nil
	case "enum":
		return d.checkEnum(value)
	case "integer", "real":
		return d.checkNumber(value)
	}
	return value, nil
}

func (d *Definition) checkEnum(value string) (string, error) {
	for _, e := range d.Enum {
		if strings.EqualFold(e, value) {
			return e, nil
		}
	}
	for _, alias := range enumAliases {
		if alias[0] == d.Name && strings.EqualFold(alias[1], value) {
			return alias[2], nil
		}
	}
	return "", pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": "%s"`, d.Name, value).
		WithHint("Available values: %s.", strings.Join(d.Enum, ", "))
}

// enumAliases are hidden spellings: the parameter, the value as the client writes it, its meaning.
var enumAliases = [][3]string{
	{"synchronous_commit", "true", "on"}, {"synchronous_commit", "false", "off"}, {"synchronous_commit", "1", "on"},
	{"synchronous_commit", "0", "off"}, {"client_min_messages", "info", "info"},
	{"backslash_quote", "true", "on"}, {"backslash_quote", "false", "off"},
	{"constraint_exclusion", "true", "on"}, {"constraint_exclusion", "false", "off"},
}

// ParseBool reads a boolean as PostgreSQL's parse_bool does: unique prefixes of true, false, yes,
// no, and on, off, 1, 0.
func ParseBool(s string) (v, ok bool) {
	s = strings.ToLower(s)
	switch {
	case s == "":
		return false, false
	case strings.HasPrefix("true", s), strings.HasPrefix("yes", s), s == "on", s == "1":
		return true, true
	case strings.HasPrefix("false", s), strings.HasPrefix("no", s), s == "of", s == "off", s == "0":
		return false, true
	}
	return false, false
}

// ClusterWide reports whether ALTER SYSTEM may change the parameter, for all nodes.
func (d *Definition) ClusterWide() bool {
	return ofAutovacuum[d.Name] || d.Category == OwnCategory && d.Context == "sighup" && d.Name != "sherd.max_row_size"
}

// ofAutovacuum are PostgreSQL's parameters that say when tables are analyzed in the background.
var ofAutovacuum = map[string]bool{
	"autovacuum": true, "autovacuum_naptime": true, "autovacuum_analyze_threshold": true,
	"autovacuum_analyze_scale_factor": true, "log_autovacuum_min_duration": true,
}
