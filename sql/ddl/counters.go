package ddl

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

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
