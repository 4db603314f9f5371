package admin

import (
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// prefixes has the functions that change the prefix rules of the session's database.
var prefixes = []Function{
	{
		OID: 8140, Signature: "set_prefix(prefix text, fragments text[], buckets int4 DEFAULT 0, " +
			"rewrite bool DEFAULT false, wait bool DEFAULT false, why text DEFAULT ''::text) RETURNS int8",
		Call: setPrefix,
		Comment: "places ids with a prefix in separate buckets, which are only in these fragments; if the prefix has " +
			"a rule, moves its buckets there; returns the number of moves started",
	},
	{
		OID: 8141, Signature: "drop_prefix(prefix text, rewrite bool DEFAULT false, why text DEFAULT ''::text) " +
			"RETURNS void",
		Call:    void(dropPrefix),
		Comment: "drops the rule for a prefix: ids with the prefix are hashed like others",
	},
}

// prefixBuckets is the default number of buckets of a rule.
const prefixBuckets = 1024

// prefixOptions are the options of set_prefix and drop_prefix.
type prefixOptions struct {
	buckets int64 // of a new rule; 0 means the default number
	rewrite bool  // rewrite tables that have ids with the prefix
	moveOptions
}

// setPrefix adds a prefix rule, which commits with the transaction, or moves the buckets of the rule at
// once. It returns the number of moves started.
func setPrefix(e *Environment, a []types.Datum) (types.Datum, error) {
	names, err := textsOf(a[1], "fragments")
	if err != nil {
		return types.Null, err
	}
	o := prefixOptions{buckets: a[2].N, rewrite: a[3].Bool(), moveOptions: moveOptionsOf(a[4:])}
	moves, err := placePrefix(e, a[0].S, names, o)
	return types.NewInt(moves), err
}

func placePrefix(e *Environment, prefix string, names []string, o prefixOptions) (int64, error) {
	if err := e.reshape("set_prefix"); err != nil {
		return 0, err
	}
	text, err := shardmap.FoldPrefix(prefix)
	if err != nil {
		return 0, err
	}
	d := e.Catalog.View().Database(e.Names.Database.OID)
	if d == nil {
		return 0, errDropped()
	}
	targets, err := d.PrefixFragments(names)
	if err != nil {
		return 0, err
	}
	if r := d.PrefixRule(text); r != nil {
		if o.buckets != 0 && o.buckets != int64(r.Len()) {
			return 0, pgerr.Unsupported(`changing the number of buckets of prefix "%s" is not supported`, text).
				WithDetail("It has %d.", r.Len()).
				WithHint("Drop the rule, with rewrite => true if there are such ids, and set it again.")
		}
		return movePrefix(e, text, targets, o)
	}
	return 0, addPrefix(e, text, targets, o)
}

func errDropped() error {
	return pgerr.New(pgerr.InvalidCatalogName, "the database does not exist any more")
}

// movePrefix sets the fragments of a rule and starts the moves of its buckets.
func movePrefix(e *Environment, text string, fragments []uint32, o prefixOptions) (int64, error) {
	errMore := errors.New("sql: the buckets were moved meanwhile")
	for {
		view := e.Catalog.View()
		d := view.Database(e.Names.Database.OID)
		if d == nil {
			return 0, errDropped()
		}
		if under := view.PrefixMoving(d, text, fragments); len(under) > 0 { // an earlier call has started the moves
			if !o.wait {
				return 0, nil
			}
			for _, job := range under {
				if err := e.waitMove(job); err != nil {
					return 0, err
				}
			}
			continue
		}
		moves, err := d.PrefixMoves(text, fragments)
		if err != nil {
			return 0, err
		}
		first, err := e.Catalog.NewJobIDs(e.Context, max(len(moves), 1))
		if err != nil {
			return 0, err
		}
		n := 0
		err = e.change("set_prefix", e.Names.Database.Name, func(d *catalog.Database, c *catalog.Change) error {
			now, err := d.PrefixMoves(text, fragments)
			if n = len(now); err == nil && n > len(moves) {
				err = errMore
			}
			if err != nil {
				return err
			}
			return c.MovePrefix(d.OID, text, fragments, now, first, e.author(o.why))
		})
		switch {
		case errors.Is(err, errMore):
			continue
		case err != nil:
			return 0, err
		}
		if o.wait {
			err = e.waitMoves(first, n)
		}
		return int64(n), err
	}
}

// addPrefix adds a rule. Meanwhile, the transaction has all tables under prefix rules for itself.
func addPrefix(e *Environment, text string, fragments []uint32, o prefixOptions) error {
	n := o.buckets
	switch {
	case n == 0:
		n = max(prefixBuckets, int64(len(fragments)))
	case n < int64(len(fragments)) || n > shardmap.MaxPrefixBuckets:
		return pgerr.New(pgerr.InvalidParameterValue,
			"a prefix has at least a bucket for each of its fragments and at most %d, not %d",
			shardmap.MaxPrefixBuckets, n)
	}
	probe := func(d *catalog.Database) shardmap.Prefixes {
		top := d.Map.Top()
		return d.Rules().With(shardmap.Prefix{Text: text, Interval: shardmap.Interval{Lo: top, Hi: top + uint32(n)}})
	}
	return changePrefixes(e, text, probe, o, func() (func(*catalog.Change) error, error) {
		if err := tryPrefix(e, text, fragments, uint32(n)); err != nil {
			return nil, err
		}
		all, err := e.Catalog.AssignPrefix(e.Context, e.Names.Database.OID, fragments, int(n))
		r := catalog.PrefixRule{Prefix: shardmap.Prefix{Text: text, Interval: all}, Fragments: fragments}
		return func(c *catalog.Change) error { return c.AddPrefix(e.Names.Database.OID, r, e.author(o.why)) }, err
	})
}

// tryPrefix adds a rule in a change that is discarded, because a rule that is refused, as for a pinned
// anchor, must not get buckets.
func tryPrefix(e *Environment, text string, fragments []uint32, n uint32) error {
	view := e.Catalog.View()
	d := view.Database(e.Names.Database.OID)
	if d == nil {
		return errDropped()
	}
	top := d.Map.Top()
	buckets := shardmap.Interval{Lo: top, Hi: top + n}
	r := catalog.PrefixRule{Prefix: shardmap.Prefix{Text: text, Interval: buckets}, Fragments: fragments}
	return view.Plan().RestorePrefixes(e.Names.Database.OID, []catalog.PrefixRule{r}, e.author(""))
}

func dropPrefix(e *Environment, a []types.Datum) error {
	o := prefixOptions{rewrite: a[1].Bool(), moveOptions: moveOptions{why: a[2].S}}
	if err := e.reshape("drop_prefix"); err != nil {
		return err
	}
	text, err := shardmap.FoldPrefix(a[0].S)
	if err != nil {
		return err
	}
	drop := func(c *catalog.Change) error { return c.DropPrefix(e.Names.Database.OID, text, e.author(o.why)) }
	if d := e.Catalog.View().Database(e.Names.Database.OID); d == nil || d.PrefixRule(text) == nil {
		return pgerr.New(pgerr.UndefinedObject, `there is no rule for prefix "%s"`, text).
			WithHint("sherd.prefixes lists them.")
	}
	without := func(d *catalog.Database) shardmap.Prefixes { return d.Rules().Without(text) }
	return changePrefixes(e, text, without, o, func() (func(*catalog.Change) error, error) { return drop, nil })
}

// changePrefixes changes the rules to those that next returns, by the change that begin returns. It calls
// begin when the change is known to be possible.
func changePrefixes(
	e *Environment, text string, next func(*catalog.Database) shardmap.Prefixes, o prefixOptions,
	begin func() (func(*catalog.Change) error, error),
) (err error) {
	if e.Tx == nil {
		return pgerr.Unsupported("rules for prefixes cannot be changed here")
	}
	oid := e.Names.Database.OID
	newest := e.Catalog.View().Database(oid)
	if s := e.Tx.Schema; s != nil && s.View.Database(oid).PrefixEpoch != newest.PrefixEpoch {
		return pgerr.Unsupported("changing more than one rule for a prefix in a transaction is not supported").
			WithHint("Commit the first before the next.")
	}
	definer := e.Definer()
	tables, err := lockPrefixTables(e, definer)
	if err != nil {
		return err
	}
	before := e.Tx.Schema
	defer func() {
		if err != nil {
			e.Tx.Schema = before // the statement may be run again
		}
	}()
	if err := e.Tx.Parts.Bound(txn.ScopeCluster); err != nil {
		return err
	}
	var rewritten, unvalidated []catalog.OID
	view := e.View()
	for _, table := range tables {
		x := rehousing{view: view, was: view.Table(table), text: text, rewrite: o.rewrite}
		if err := x.scan(e.Context, definer, next(view.Database(oid))); err != nil {
			return err
		}
		if x.moving > 0 {
			rewritten = append(rewritten, table)
		}
		if x.unvalidated {
			unvalidated = append(unvalidated, table)
		}
	}
	edit, err := begin()
	if err != nil {
		return err
	}
	return ddl.ChangePrefixes(e.Context, definer, tables, rewritten, unvalidated, edit)
}

// lockPrefixTables locks all tables that are under prefix rules, exclusively.
func lockPrefixTables(e *Environment, definer *ddl.Env) ([]catalog.OID, error) {
	var locked []catalog.OID
	for {
		tables := ddl.PrefixTables(e.View(), e.Names.Database.OID)
		if !slices.ContainsFunc(tables, func(t catalog.OID) bool { return !slices.Contains(locked, t) }) {
			return tables, nil
		}
		if err := e.Unused("change rules for prefixes of", tables); err != nil {
			return nil, err
		}
		for _, t := range tables {
			if !slices.Contains(locked, t) && e.Tx.UsesAlready(t) {
				return nil, pgerr.New(pgerr.ObjectInUse, "rules for prefixes cannot be changed because tables are "+
					"being used by active queries in this session")
			}
		}
		e.Tx.DefineTables(tables...)
		if err := definer.Lock(e.Context, tables); err != nil {
			return nil, err
		}
		locked = tables
	}
}

// rehousing finds the rows of a table whose buckets are others under new prefix rules.
type rehousing struct {
	view    *catalog.View
	was     *catalog.Table
	text    string // the prefix
	rewrite bool   // whether rows may move

	moving      int64
	unvalidated bool // documents lie where their content belonged, and does not any more
}

func (x *rehousing) scan(ctx context.Context, definer *ddl.Env, next shardmap.Prefixes) error {
	if x.was.PrimaryKey() == nil {
		return nil // no rule applies to hidden ids
	}
	def := x.was.Clone()
	def.Prefixes = next
	old, err := table.NewPlacement(x.was)
	if err != nil {
		return err
	}
	now, err := table.NewPlacement(def)
	if err != nil {
		return err
	}
	trusted := x.was.Anchors && x.was.Policy != nil && x.was.PolicyValidated
	row, columns := make([]types.Datum, len(x.was.Columns)), now.Columns()
	return definer.Query(ctx, x.view, ddl.SelectColumns(x.view, x.was, columns), func(got []types.Datum) error {
		for k, at := range columns {
			row[at] = got[k]
		}
		id, _, from, err := old.Home(row)
		if err != nil {
			return err
		}
		_, _, to, err := now.Home(row)
		switch {
		case err != nil:
			return x.named(id, err)
		case from != to && !x.rewrite:
			return x.refuse(id, from)
		case from != to:
			x.moving++
		}
		if trusted && !x.unvalidated {
			_, _, err := now.Check(row)
			x.unvalidated = pgerr.Is(err, pgerr.CheckViolation)
			if err != nil && !x.unvalidated {
				return err
			}
		}
		return nil
	})
}

// refuse returns the error that rows would have to move.
func (x *rehousing) refuse(id string, from shardmap.Bucket) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `table "%s" has ids under prefix "%s"`, x.was.Name, x.text).
		WithDetail(`"%s" lies in bucket %d, where it would not be looked for any more.`, id, from).
		WithHint("With rewrite => true, the tables that have such ids are rewritten, and their users wait meanwhile.")
}

// named returns the error that an id names a bucket of the rule that is dropped.
func (x *rehousing) named(id string, err error) error {
	if !pgerr.Is(err, pgerr.InvalidParameterValue) {
		return err
	}
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
		`table "%s" has an id that names a bucket of prefix "%s"`, x.was.Name, x.text).
		WithDetail("It is %q.", id).
		WithHint("Delete such documents first, or insert them again with a $ at the end of their ids.")
}
