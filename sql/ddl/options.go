package ddl

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// Sherd's own storage parameters, in addition to those of the sharding policy.
const (
	optionDocument = "document"  // the name of the document column
	optionAnchors  = "anchors"   // whether $ means something in keys
	optionAnchorBy = "anchor_by" // the field that new ids are anchored to
	// like shard_splits, for segments that the balancer may merge
	optionAuto     = types.OptionAutoSplits
	optionKeyOrder = "pk_order" // off: no index in primary key order
	// of a new range table: the keys at which its segments begin; not stored
	optionSplits = types.OptionSplits
)

var policyOptions = []string{shardmap.OptionBy, shardmap.OptionRange, shardmap.OptionMutable}

// options are storage parameters by name, as text; reset has those to be removed.
type options struct {
	set   map[string]string
	reset []string
}

// optionKind is the kind of a storage parameter's value.
type optionKind uint8

const (
	boolOption optionKind = iota
	intOption
	realOption
	textOption
)

type optionRule struct {
	kind   optionKind
	lo, hi float64
}

// rules are PostgreSQL's storage parameters of tables, which are stored without effect, and
// Sherd's.
var rules = map[string]optionRule{
	"fillfactor":                            {intOption, 10, 100},
	"parallel_workers":                      {intOption, 0, 1024},
	"toast_tuple_target":                    {intOption, 128, 8160},
	"autovacuum_enabled":                    {boolOption, 0, 0},
	"user_catalog_table":                    {boolOption, 0, 0},
	"vacuum_index_cleanup":                  {textOption, 0, 0},
	"vacuum_truncate":                       {boolOption, 0, 0},
	"autovacuum_vacuum_threshold":           {intOption, 0, 2147483647},
	"autovacuum_vacuum_insert_threshold":    {intOption, -1, 2147483647},
	"autovacuum_analyze_threshold":          {intOption, 0, 2147483647},
	"autovacuum_vacuum_cost_limit":          {intOption, 1, 10000},
	"autovacuum_freeze_min_age":             {intOption, 0, 1000000000},
	"autovacuum_freeze_max_age":             {intOption, 100000, 2000000000},
	"autovacuum_freeze_table_age":           {intOption, 0, 2000000000},
	"autovacuum_multixact_freeze_min_age":   {intOption, 0, 1000000000},
	"autovacuum_multixact_freeze_max_age":   {intOption, 10000, 2000000000},
	"autovacuum_multixact_freeze_table_age": {intOption, 0, 2000000000},
	"log_autovacuum_min_duration":           {intOption, -1, 2147483647},
	"autovacuum_vacuum_cost_delay":          {realOption, 0, 100},
	"autovacuum_vacuum_scale_factor":        {realOption, 0, 100},
	"autovacuum_vacuum_insert_scale_factor": {realOption, 0, 100},
	"autovacuum_analyze_scale_factor":       {realOption, 0, 100},
	shardmap.OptionBy:                       {textOption, 0, 0},
	shardmap.OptionRange:                    {intOption, 1, shardmap.MaxRange},
	shardmap.OptionMutable:                  {boolOption, 0, 0},
	optionDocument:                          {textOption, 0, 0},
	optionAnchors:                           {boolOption, 0, 0},
	optionAnchorBy:                          {textOption, 0, 0},
	optionKeyOrder:                          {boolOption, 0, 0},
	OptionCounters:                          {textOption, 0, 0},
	optionSplits:                            {textOption, 0, 0},
	catalog.PrefixOption:                    {textOption, 0, 0},
	optionFormer:                            {textOption, 0, 0},
	optionAuto:                              {textOption, 0, 0},
}

// readOptions reads WITH (…), SET (…) and RESET (…).
func (c *change) readOptions(list []*pg_query.Node, reset bool) (options, error) {
	o := options{set: map[string]string{}}
	for _, node := range list {
		e := node.GetDefElem()
		name := strings.ToLower(e.Defname)
		if e.Defnamespace != "" && e.Defnamespace != "toast" {
			return o, pgerr.New(pgerr.InvalidParameterValue, `unrecognized parameter namespace "%s"`, e.Defnamespace)
		}
		if name == "oids" && e.Defnamespace == "" {
			if on, err := parseBool(name, optionText(e.Arg)); err != nil || on {
				return o, pgerr.Unsupported("tables declared WITH OIDS are not supported")
			}
			continue
		}
		rule, known := rules[name]
		if !known || e.Defnamespace == "toast" && (!strings.Contains(name, "vacuum")) {
			return o, pgerr.New(pgerr.InvalidParameterValue, `unrecognized parameter "%s"`, e.Defname)
		}
		if reset {
			if e.Arg != nil {
				return o, pgerr.New(pgerr.SyntaxError, "RESET must not include values for parameters")
			}
			o.reset = append(o.reset, name)
			continue
		}
		if _, twice := o.set[name]; twice {
			return o, pgerr.New(pgerr.InvalidParameterValue, `parameter "%s" specified more than once`, name)
		}
		value := "true"
		if e.Arg != nil {
			value = optionText(e.Arg)
		}
		if err := rule.check(name, value); err != nil {
			return o, err
		}
		if e.Defnamespace == "" { // parameters of TOAST have no meaning here
			o.set[name] = value
		}
	}
	return o, nil
}

func (r optionRule) check(name, value string) error {
	invalid := func(kind string) error {
		return pgerr.New(pgerr.InvalidParameterValue, `invalid value for %s option "%s": %s`, kind, name, value)
	}
	var v float64
	switch r.kind {
	case textOption:
		return nil
	case boolOption:
		if _, err := parseBool(name, value); err != nil {
			return invalid("boolean")
		}
		return nil
	case intOption:
		n, err := strconv.ParseInt(strings.TrimSpace(value), 0, 32)
		if err != nil {
			return invalid("integer")
		}
		v = float64(n)
	case realOption:
		f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return invalid("floating point")
		}
		v = f
	}
	if v < r.lo || v > r.hi {
		return pgerr.New(pgerr.InvalidParameterValue, `value %s out of bounds for option "%s"`, value, name).
			WithDetail(`Valid values are between "%s" and "%s".`, number(r.lo, r.kind), number(r.hi, r.kind))
	}
	return nil
}

func number(v float64, k optionKind) string {
	if k == realOption {
		return strconv.FormatFloat(v, 'f', 6, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// optionText returns a parameter's value as text.
func optionText(n *pg_query.Node) string {
	switch x := n.GetNode().(type) {
	case *pg_query.Node_String_:
		return x.String_.Sval
	case *pg_query.Node_Integer:
		return strconv.Itoa(int(x.Integer.Ival))
	case *pg_query.Node_Float:
		return x.Float.Fval
	case *pg_query.Node_Boolean:
		return strconv.FormatBool(x.Boolean.Boolval)
	case *pg_query.Node_TypeName:
		return strings.Join(texts(x.TypeName.Names), ".")
	case *pg_query.Node_List:
		return strings.Join(texts(x.List.Items), ".")
	case *pg_query.Node_AConst:
		return constText(x.AConst)
	}
	return ""
}

func constText(c *pg_query.A_Const) string {
	switch v := c.Val.(type) {
	case *pg_query.A_Const_Ival:
		return strconv.Itoa(int(v.Ival.Ival))
	case *pg_query.A_Const_Fval:
		return v.Fval.Fval
	case *pg_query.A_Const_Sval:
		return v.Sval.Sval
	case *pg_query.A_Const_Boolval:
		return strconv.FormatBool(v.Boolval.Boolval)
	}
	return ""
}

// parseBool parses a boolean as PostgreSQL does: prefixes of true, false, yes, no; on, off, 1, 0.
func parseBool(name, s string) (bool, error) {
	t := strings.ToLower(strings.TrimSpace(s))
	switch {
	case t == "1", t == "on", t != "" && (strings.HasPrefix("true", t) || strings.HasPrefix("yes", t)):
		return true, nil
	case t == "0", t == "of", t == "off", t != "" && (strings.HasPrefix("false", t) || strings.HasPrefix("no", t)):
		return false, nil
	}
	return false, pgerr.New(pgerr.InvalidParameterValue, "%s requires a Boolean value", name)
}

// option returns a parameter as the table will have it.
func (d *draft) option(name string) (string, bool) {
	if v, ok := d.options.set[name]; ok {
		return v, true
	}
	if slices.Contains(d.options.reset, name) {
		return "", false
	}
	v, ok := d.t.Options[name]
	return v, ok
}

// touches reports whether the statement sets or resets one of the parameters.
func (d *draft) touches(names ...string) bool {
	for _, n := range names {
		if _, ok := d.options.set[n]; ok || slices.Contains(d.options.reset, n) {
			return true
		}
	}
	return false
}

func (d *draft) boolOption(name string, otherwise bool) bool {
	v, ok := d.option(name)
	if !ok {
		return otherwise
	}
	on, err := parseBool(name, v)
	return err == nil && on
}

// keyOrder reports whether the primary key gets an index in key order.
func (d *draft) keyOrder() bool { return d.boolOption(optionKeyOrder, true) }

// keepOptions stores the parameters in the table.
func (d *draft) keepOptions() {
	if d.t.Options == nil {
		d.t.Options = map[string]string{}
	}
	for name, v := range d.options.set {
		d.t.Options[name] = v
	}
	for _, name := range d.options.reset {
		delete(d.t.Options, name)
	}
	for _, name := range append([]string{optionSplits, optionAuto, optionFormer, catalog.PrefixOption},
		policyOptions...) {
		delete(d.t.Options, name)
	}
	maps.Copy(d.t.Options, d.pending)
	if len(d.t.Segments) > 0 {
		d.t.Options[shardmap.OptionBy] = shardmap.RangeTable
	}
	if p := d.t.Policy; p != nil {
		maps.Copy(d.t.Options, pendingOptions(p))
	}
}

// OptionCounters is the storage parameter that declares counters: columns, and paths into the
// document, in the syntax of shard_by. They are the default counters of sherd.hot_split.
const OptionCounters = "counters"

// Counters parses a list of counters of a table.
func Counters(t *catalog.Table, text string) ([]catalog.Counter, error) {
	fields, err := shardmap.ParseFields(text)
	if err != nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid list of counters %s", builtin.QuoteLiteral(text)).
			WithDetail("%s", pgerr.From(err).Detail).
			WithHint(`Counters look like: v, Likes, Stats.Views, "a.b".c. A part with a comma, dot or blank is ` +
				`double-quoted.`)
	}
	var out []catalog.Counter
	for n, f := range fields {
		if slices.ContainsFunc(fields[:n], f.Equal) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "counter %s is named twice", f)
		}
		c, ok := CounterOf(t, f)
		if !ok || f.Func != shardmap.PlainField {
			return nil, pgerr.New(pgerr.UndefinedColumn,
				`counter "%s" is no column of "%s", and the table has no document`, f.String(), t.Name).
				WithHint("A document is a jsonb column named doc, the only jsonb column, or the one that WITH " +
					"(document = …) names.")
		}
		if len(c.Path) == 0 {
			if err := countable(t.ColumnByNum(c.Column)); err != nil {
				return nil, err
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// CounterOf returns the counter that a field names in a table: a column, or a path into its
// document.
func CounterOf(t *catalog.Table, f shardmap.Field) (c catalog.Counter, ok bool) {
	if len(f.Path) == 0 {
		return c, false
	}
	if col := t.Column(f.Path[0]); len(f.Path) == 1 && col != nil {
		return catalog.Counter{Column: col.AttNum}, true
	}
	return catalog.Counter{Column: t.Document, Path: f.Path}, t.Document != 0
}

// countable refuses a column type for which adding up the parts can differ from adding the
// increments one after the other.
func countable(c *catalog.Column) error {
	switch c.Type {
	case types.Int2, types.Int4, types.Int8:
		return nil
	case types.Numeric:
		if c.Typmod < 0 {
			return nil
		}
		return pgerr.Unsupported(`column "%s" cannot be a counter: its values are rounded to a scale`, c.Name).
			WithHint("Use numeric without precision, or bigint.")
	}
	return pgerr.Unsupported(`column "%s" cannot be a counter: it is of type %s`, c.Name, types.TypeName(c.Type)).
		WithHint("Counters are integers and numeric.")
}

// checkCounters returns an error if the table lacks a counter that its option names.
func (d *draft) checkCounters() error {
	text, ok := d.option(OptionCounters)
	if !ok || text == "" || !d.touches(OptionCounters) {
		return nil
	}
	_, err := Counters(d.t, text)
	return err
}

// moveParts moves the parts of a table's split documents to the table's owner and schema.
func (c *change) moveParts(t *catalog.Table) error {
	if t.Hot == nil || t.Hot.Parts == 0 {
		return nil
	}
	parts := c.view.Table(t.Hot.Parts)
	if parts == nil {
		return nil
	}
	parts = parts.Clone()
	parts.Owner, parts.Schema = t.Owner, t.Schema
	return c.ch.PutTable(parts)
}

// dropParts drops the parts of a table's split documents.
func (c *change) dropParts(t *catalog.Table) error {
	if t.Hot == nil || t.Hot.Parts == 0 {
		return nil
	}
	parts := c.view.Table(t.Hot.Parts)
	if parts == nil {
		return nil
	}
	c.ch.DropTable(parts.OID)
	return c.dropStorage(parts.Database, parts.StorageID)
}
