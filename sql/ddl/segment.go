package ddl

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// Range tables: with shard_by = 'range', rows lie by ranges of their primary keys, the segments,
// instead of by a hash.

// isRange reports whether a value of shard_by asks for key ranges.
func isRange(by string) bool { return strings.EqualFold(strings.TrimSpace(by), shardmap.RangeTable) }

// wantsRange reports whether the table is a range table after the statement, or becomes one with a
// primary key.
func (d *draft) wantsRange() bool {
	if d.touches(shardmap.OptionBy) {
		return isRange(d.options.set[shardmap.OptionBy])
	}
	return len(d.t.Segments) > 0 || d.t.Policy == nil && isRange(d.t.Options[shardmap.OptionBy])
}

// updateSegments creates the segments of a table that becomes a range table, and removes them if it
// is a range table no more; both rewrite the rows.
func (d *draft) updateSegments() error {
	was := len(d.t.Segments) > 0
	if !d.wantsRange() {
		for _, name := range splitOptions {
			if d.options.set[name] != "" {
				return pgerr.New(pgerr.InvalidParameterValue, `option "%s" needs %s = '%s'`, name, shardmap.OptionBy,
					shardmap.RangeTable)
			}
		}
		d.t.Segments, d.restored = nil, d.restored || was
		return nil
	}
	if err := d.checkRange(); err != nil {
		return err
	}
	switch {
	case d.t.PrimaryKey() == nil:
		return d.postponeRange()
	case was && d.options.set[optionSplits]+d.options.set[optionAuto] != "":
		return pgerr.Unsupported(`option "%s" of a table that has segments is not supported`, optionSplits).
			WithHint("Use SELECT sherd.split_segment(%s, '…') with the key at which a segment is to begin.",
				builtin.QuoteLiteral(d.quoted(d.view, d.t)))
	case was && !d.keyUnchanged():
		return pgerr.Unsupported(`changing the primary key of range table "%s" is not supported`, d.t.Name).
			WithHint("Its segments begin at values of that key. Use ALTER TABLE %s RESET (%s) first.",
				d.quoted(d.view, d.t), shardmap.OptionBy)
	case was:
		return nil
	}
	var starts [2][][]byte
	for i, name := range splitOptions {
		splits, _ := d.option(name)
		var err error
		if starts[i], err = d.splitKeys(splits); err != nil {
			return err
		}
	}
	segments, err := NewSegments(d.change, slices.Concat(starts[0], starts[1]))
	for i := range segments {
		is := func(key []byte) bool { return bytes.Equal(key, segments[i].Start) }
		segments[i].Automatic = slices.ContainsFunc(starts[1], is) && !slices.ContainsFunc(starts[0], is)
	}
	d.t.Segments, d.restored = segments, true
	return err
}

// splitOptions are the storage parameters that list where segments begin: chosen by a user, and by
// the balancer.
var splitOptions = [...]string{optionSplits, optionAuto}

// postponeRange stores the parameters of a range table until it has a primary key. If the key of a
// range table is dropped, they become pending.
func (d *draft) postponeRange() error {
	d.pending = map[string]string{}
	for _, name := range splitOptions {
		if splits, given := d.option(name); given {
			d.pending[name] = splits
		}
	}
	if len(d.t.Segments) > 0 {
		if d.keyDropped() {
			d.pending = types.SplitOptions(splitColumns(d.was), d.was.Segments)
		}
		d.t.Segments, d.restored = nil, true
	} else if d.touches(shardmap.OptionBy) {
		d.notice(pgerr.SuccessfulCompletion, `the rows of "%s" lie by ranges when the table has a primary key`,
			d.t.Name)
	}
	d.pending[shardmap.OptionBy] = shardmap.RangeTable
	return nil
}

// keyDropped reports whether the statement drops the primary key.
func (d *draft) keyDropped() bool {
	return d.was != nil && d.was.PrimaryKey() != nil && d.t.PrimaryKey() == nil
}

// checkRange refuses options that cannot be combined with a range table.
func (d *draft) checkRange() error {
	for _, name := range policyOptions[1:] {
		if _, given := d.options.set[name]; given {
			return pgerr.New(pgerr.InvalidParameterValue, `option "%s" has no meaning with %s = '%s'`, name,
				shardmap.OptionBy, shardmap.RangeTable)
		}
	}
	for name, why := range map[string]string{optionAnchors: "$ has no meaning in the ids of a range table",
		optionAnchorBy: "ids of a range table have no anchors"} {
		if v, given := d.option(name); given && v != "" && (name == optionAnchorBy || d.boolOption(name, false)) {
			return pgerr.New(pgerr.InvalidParameterValue, `option "%s" does not go with %s = '%s'`, name,
				shardmap.OptionBy, shardmap.RangeTable).WithDetail("%s.", why)
		}
	}
	return nil
}

// keyUnchanged reports whether the primary key has the same columns and types as before.
func (d *draft) keyUnchanged() bool {
	old, now := d.was.PrimaryKey(), d.t.PrimaryKey()
	if old == nil || len(old.Columns) != len(now.Columns) {
		return false
	}
	for i, att := range now.Columns {
		if old.Columns[i] != att || d.was.ColumnByNum(att).Type != d.t.ColumnByNum(att).Type {
			return false
		}
	}
	return true
}

// splitKeys parses the keys at which segments begin: separated by commas, or as an array {…}.
func (d *draft) splitKeys(text string) (out [][]byte, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	texts := strings.Split(text, ",")
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		v, err := types.Input(types.ArrayTypeOf(types.Text), -1, text, d.Env.Env)
		if err != nil {
			return nil, err
		}
		a, err := types.ArrayOf(v)
		if err != nil {
			return nil, err
		}
		texts = texts[:0]
		for _, e := range a.Elems() {
			texts = append(texts, e.S)
		}
	}
	for _, s := range texts {
		key, err := SegmentKey(d.t, strings.TrimSpace(s), d.Env.Env)
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, nil
}

// NewSegments returns the segments of a table without rows, in new buckets that are spread over the
// fragments.
func NewSegments(c *change, starts [][]byte) (shardmap.Segments, error) {
	n := len(shardmap.NewSegments(starts, shardmap.BucketCount))
	first, err := c.Catalog.AssignBuckets(c.ctx, c.Database,
		func(_ *catalog.View, d *catalog.Database) ([]shardmap.FragmentID, error) {
			return d.SpreadSegments(n), nil
		})
	return shardmap.NewSegments(starts, first), err
}

// SegmentKey parses the key at which a segment of a table begins (types.ParseSplitKey).
func SegmentKey(t *catalog.Table, text string, env *types.Env) (key []byte, err error) {
	return types.ParseSplitKey(splitColumns(t), text, env)
}

// splitColumns are the columns of a table's primary key.
func splitColumns(t *catalog.Table) (out []types.KeyColumn) {
	for _, att := range t.PrimaryKey().Columns {
		c := t.ColumnByNum(att)
		out = append(out, types.KeyColumn{Name: c.Name, Type: c.Type, Typmod: c.Typmod})
	}
	return out
}

// KeyInSegments is like SegmentKey, and returns an error unless the table is a range table.
func KeyInSegments(t *catalog.Table, text string, env *types.Env) ([]byte, error) {
	if err := HasSegments(t); err != nil {
		return nil, err
	}
	return SegmentKey(t, text, env)
}

// HasSegments returns an error unless the table is a range table.
func HasSegments(t *catalog.Table) error {
	if len(t.Segments) == 0 {
		return pgerr.New(pgerr.WrongObjectType, `table "%s" has no segments`, t.Name).
			WithHint("ALTER TABLE %s SET (%s = '%s') has its rows lie by ranges of their keys.",
				builtin.QuoteIdent(t.Name), shardmap.OptionBy, shardmap.RangeTable)
	}
	return nil
}

// PrefixTables returns the tables of a database that are placed by its prefix rules.
func PrefixTables(v *catalog.View, database catalog.OID) (out []catalog.OID) {
	for t := range v.Tables(database) {
		if t.FollowsPrefixes() {
			out = append(out, t.OID)
		}
	}
	return out
}

// ChangePrefixes adds or drops a prefix rule, as edit says, and redefines all tables that are
// placed by prefix rules, which the caller has locked. rewritten lists the tables whose rows must
// move and are rewritten; unvalidated lists those whose policies are not validated any more. It
// returns 40001 if another table has been created meanwhile.
func ChangePrefixes(ctx context.Context, e *Env, locked, rewritten, unvalidated []catalog.OID,
	edit func(*catalog.Change) error) error {
	r := &runner{Env: e, ctx: ctx}
	return r.updateLocked(locked, func(c *change) error {
		if err := edit(c.ch); err != nil {
			return err
		}
		for _, oid := range PrefixTables(c.view, c.Database) {
			if !slices.Contains(locked, oid) {
				return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
					WithDetail("A table was made while a rule for a prefix was made or dropped.").WithHint("Try again.")
			}
			if err := c.applyPrefixRules(oid, slices.Contains(rewritten, oid),
				slices.Contains(unvalidated, oid)); err != nil {
				return err
			}
		}
		return nil
	})
}

// applyPrefixRules redefines a table by the changed rules.
func (c *change) applyPrefixRules(oid catalog.OID, rewritten, unvalidated bool) error {
	was := c.view.Table(oid)
	t := was.Clone()
	if unvalidated {
		t.PolicyValidated = false
		c.notice(pgerr.SuccessfulCompletion,
			`the sharding policy of "%s" is not validated any more: documents lie elsewhere than their content `+
				`belongs now`, t.Name)
		c.notices[len(c.notices)-1].Hint = "SELECT sherd.replace_placement('" + t.Name +
			"'); changes their ids so that they lie there."
	}
	if !rewritten {
		return c.ch.PutTable(t)
	}
	d := &draft{change: c, t: t, was: was, restored: true}
	d.filled = func() (bool, error) { return true, nil }
	return d.putTable()
}

// The option shard_prefixes of CREATE TABLE has the prefix rules of the database that a table was
// dumped from. Rules belong to the database: missing ones are created at once, as by
// sherd.set_prefix, even if the transaction rolls back.

// restorePrefixes creates the rules that the options of a new table name.
func (r *runner) restorePrefixes(options []*pg_query.Node) error {
	text := ""
	for _, n := range options {
		if e := n.GetDefElem(); e.Defname == catalog.PrefixOption && e.Defnamespace == "" {
			text = optionText(e.Arg)
		}
	}
	if text == "" {
		return nil
	}
	missing, err := r.missingPrefixes(r.Catalog.View(), text)
	if err != nil || len(missing) == 0 {
		return err
	}
	if me := r.View().Role(r.Role); me == nil || !me.Superuser {
		return pgerr.New(pgerr.InsufficientPrivilege, `permission denied to make a rule for prefix "%s"`,
			missing[0].Text).
			WithHint("Only superusers may. Call sherd.set_prefix before, or restore as one.")
	}
	tables := PrefixTables(r.View(), r.Database)
	if err := r.Lock(r.ctx, tables); err != nil {
		return err
	}
	if err := r.checkUnused(tables); err != nil {
		return err
	}
	_, err = r.Catalog.Update(r.ctx, func(v *catalog.View, ch *catalog.Change) error {
		missing, err := r.missingPrefixes(v, text)
		if err != nil || len(missing) == 0 {
			return err
		}
		author := catalog.Author{Who: v.Role(r.Role).Name, Why: "restored with a table",
			Micros: time.Now().UnixMicro()}
		if err := ch.RestorePrefixes(r.Database, missing, author); err != nil {
			return err
		}
		for _, oid := range PrefixTables(v, r.Database) {
			if !slices.Contains(tables, oid) {
				return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
					WithDetail("A table was made while a rule for a prefix was made.").WithHint("Try again.")
			}
			if err := ch.PutTable(v.Table(oid)); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func (r *runner) missingPrefixes(v *catalog.View, text string) ([]catalog.PrefixRule, error) {
	d := v.Database(r.Database)
	if d == nil {
		return nil, pgerr.New(pgerr.InvalidCatalogName, "the database does not exist any more")
	}
	rules, err := d.ParsePrefixText(text)
	if err != nil {
		return nil, err
	}
	return d.MissingPrefixes(rules)
}

// checkUnused returns an error if a new rule would move rows: tables must have no primary key yet,
// or no rows. Tables that only the running transaction knows cannot follow a rule that is in force
// for all.
func (r *runner) checkUnused(tables []catalog.OID) error {
	v, newest := r.View(), r.Catalog.View()
	c := &change{runner: r, view: v, me: v.Role(r.Role)}
	for _, oid := range tables {
		t, known := v.Table(oid), newest.Table(oid)
		if known == nil || known.Version != t.Version {
			return pgerr.Unsupported("making a rule for a prefix after other tables in a transaction is not supported").
				WithHint("Call sherd.set_prefix before the transaction.")
		}
		if t.PrimaryKey() == nil {
			continue
		}
		empty, err := c.isEmpty(t)
		if err != nil {
			return err
		}
		if !empty {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`rules for prefixes cannot be restored while table "%s" has rows`, t.Name).
				WithHint("Restore into an empty database, or call sherd.set_prefix before.")
		}
	}
	return nil
}
