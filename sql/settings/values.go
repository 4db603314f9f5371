package settings

import (
	"maps"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Values are the values of a session's parameters. Changes of a session are undone as its
// transactions and savepoints end. Values are not safe for concurrent use.
type Values struct {
	sources Sources
	startup map[string]string // by lower-case name: of the start-up packet, the role and the database
	session map[string]string
	levels  levels // what open transactions and savepoints have set
	// Parameters with a client's own prefix that were set once: they stay known, and empty.
	placeholders map[string]bool
	restricted   bool   // the role is not a superuser, and the client sets
	started      bool   // parameters of the start can no longer be set
	version      uint64 // of the values that the session itself has set
	report       report
}

// Sources are values that a session does not set. A field may be nil.
type Sources struct {
	User string // "$user" in search_path
	// State returns parameters that show a state of the session, such as transaction_isolation.
	State func(key string) (string, bool)
	// Cluster returns a value that ALTER SYSTEM has set.
	Cluster func(name string) (string, bool)
	// CommandLine are parameters that follow from how the node was started, by lower-case name.
	CommandLine map[string]string
}

// NewValues returns the values of a session that has set none yet.
func NewValues(s Sources) *Values {
	return &Values{
		sources: s, startup: map[string]string{}, session: map[string]string{}, levels: levels{},
		placeholders: map[string]bool{}, version: 1, report: report{sent: map[string]string{}},
	}
}

// Restrict says whether the role is no superuser.
func (v *Values) Restrict(on bool) { v.restricted = on }

// IsSet reports whether the session itself has set a parameter.
func (v *Values) IsSet(name string) bool {
	_, ok := v.session[name]
	return ok
}

// Version changes whenever the session may have set a parameter.
func (v *Values) Version() uint64 { return v.version }

// Get returns the canonical value; known is false for a parameter that does not exist.
func (v *Values) Get(name string) (value string, known bool) {
	key := strings.ToLower(name)
	d, builtIn := Lookup(key)
	if value, _, ok := v.layered(key, d); ok {
		return value, true
	}
	return "", builtIn || v.placeholders[key]
}

// layered returns a parameter's value in its base unit, and where it comes from as
// pg_settings.source names it. d is nil for a parameter that is not built in.
func (v *Values) layered(key string, d *Definition) (value, source string, ok bool) {
	if v.sources.State != nil {
		if s, ok := v.sources.State(key); ok {
			return s, "override", true
		}
	}
	if s, ok := v.session[key]; ok {
		return s, "session", true
	}
	if s, ok := v.startup[key]; ok {
		return s, "client", true
	}
	if d == nil {
		return "", "", false
	}
	if d.Context == "sighup" && v.sources.Cluster != nil {
		if s, ok := v.sources.Cluster(d.Name); ok {
			return s, "configuration file", true
		}
	}
	if s, ok := v.sources.CommandLine[key]; ok {
		return s, "command line", true
	}
	return d.Default, "default", true
}

// Source returns a parameter's value in its base unit, and where it comes from
// (pg_settings.source).
func (v *Values) Source(d *Definition) (value, source string) {
	value, source, _ = v.layered(strings.ToLower(d.Name), d)
	return value, source
}

// Tuned returns the parameters of the planner that do not have their defaults, with their values, in
// the order of their names.
func (v *Values) Tuned() (out [][2]string) {
	for _, d := range All() {
		if !d.planner() {
			continue
		}
		if value, _ := v.Source(d); value != d.Default {
			out = append(out, [2]string{d.Name, d.Show(value)})
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out
}

// planner reports whether plans may depend on the parameter.
func (d *Definition) planner() bool {
	return strings.HasPrefix(d.Category, "Query Tuning") || strings.HasPrefix(d.Name, ownMethods) ||
		slices.Contains([]string{"search_path", "work_mem", "hash_mem_multiplier", "temp_buffers"}, d.Name)
}

// Show returns the value as SHOW prints it, or 42704.
func (v *Values) Show(name string) (string, error) {
	s, known := v.Get(name)
	if !known {
		return "", unrecognized(name)
	}
	if d, ok := Lookup(name); ok {
		return d.Show(s), nil
	}
	return s, nil
}

func unrecognized(name string) error {
	return pgerr.New(pgerr.UndefinedObject, `unrecognized configuration parameter "%s"`, name)
}

// Check returns the canonical value of a parameter that the client may set.
func (v *Values) Check(name, value string) (string, error) {
	d, ok := Lookup(name)
	if !ok {
		if !strings.Contains(name, ".") || strings.HasPrefix(strings.ToLower(name), "sherd.") {
			return "", unrecognized(name)
		}
		return value, nil // a placeholder
	}
	if err := d.settable(); err != nil {
		return "", err
	}
	if err := v.permitted(d); err != nil {
		return "", err
	}
	canonical, err := d.Check(value)
	if err != nil {
		return "", err
	}
	if d.Name == "DateStyle" {
		return canonicalDateStyle(d.Name, canonical, v.text(d.Name))
	}
	return checkMeaning(d.Name, canonical)
}

// settable returns an error for a parameter that no session may set.
func (d *Definition) settable() error {
	switch d.Context {
	case "internal":
		return pgerr.New(pgerr.CantChangeRuntimeParam, `parameter "%s" cannot be changed`, d.Name)
	case "postmaster":
		return pgerr.New(pgerr.CantChangeRuntimeParam,
			`parameter "%s" cannot be changed without restarting the server`, d.Name)
	case "sighup":
		e := pgerr.New(pgerr.CantChangeRuntimeParam, `parameter "%s" cannot be changed now`, d.Name)
		if d.ClusterWide() {
			e = e.WithHint("It is for the whole cluster: ALTER SYSTEM SET %s = '…' changes it.", d.Name)
		}
		return e
	}
	return nil
}

// permitted returns an error if only superusers may set a parameter and the role is not one.
func (v *Values) permitted(d *Definition) error {
	if v.restricted && (d.Context == "superuser" || d.Context == "superuser-backend") {
		return pgerr.New(pgerr.InsufficientPrivilege, `permission denied to set parameter "%s"`, d.Name)
	}
	return nil
}

// changeable returns an error if a parameter can no longer be changed, or not by this session. A
// reset is a change too.
func (v *Values) changeable(key string) error {
	d, ok := Lookup(key)
	switch {
	case !ok:
		return nil
	case v.started && (d.Context == "backend" || d.Context == "superuser-backend"):
		return pgerr.New(pgerr.CantChangeRuntimeParam, `parameter "%s" cannot be set after connection start`, d.Name)
	}
	return v.permitted(d)
}

// Set changes a parameter; nil resets it. nest is the depth of transactions and savepoints: at 0,
// outside of any transaction, a change stays.
func (v *Values) Set(name string, value *string, local bool, nest int) error {
	key := strings.ToLower(name)
	if err := v.changeable(key); err != nil {
		return err
	}
	known := v.placeholders[key]
	if value == nil {
		if _, ok := v.Get(key); !ok {
			if _, err := v.Check(name, ""); err != nil {
				return err
			}
		}
	} else {
		canonical, err := v.Check(name, *value)
		if err != nil {
			return err
		}
		value = &canonical
	}
	if _, builtIn := Lookup(key); !builtIn && !known {
		v.placeholders[key] = true
	}
	if nest > 0 {
		v.levels.remember(key, v.current(key), local, nest)
	}
	v.put(key, value)
	return nil
}

func (v *Values) current(key string) *string {
	if s, ok := v.session[key]; ok {
		return &s
	}
	return nil
}

func (v *Values) put(key string, value *string) {
	v.version++
	if value == nil {
		delete(v.session, key)
		return
	}
	v.session[key] = *value
}

// ResetAll resets all parameters, in the transaction or savepoint of depth nest.
func (v *Values) ResetAll(nest int) {
	for key := range maps.Clone(v.session) {
		if d, ok := Lookup(key); ok && d.identity {
			continue
		}
		if nest > 0 {
			v.levels.remember(key, v.current(key), false, nest)
		}
		v.put(key, nil)
	}
}

// End ends the transaction and savepoints from depth nest on. If it commits, its changes become
// those of the surrounding level, except LOCAL values; otherwise they are undone.
func (v *Values) End(commit bool, nest int) { v.levels.end(commit, nest, v.put) }
