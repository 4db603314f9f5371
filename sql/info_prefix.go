package sql

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
)

// prefixBuckets is how many buckets a rule for a prefix has where nobody says.
const prefixBuckets = 1024

// SetPrefix implements builtin.PrefixInfo.
func (i info) SetPrefix(prefix string, fragments []string, o builtin.PrefixOptions) (int64, error) {
	const function = "set_prefix"
	if err := i.reshape(function); err != nil {
		return 0, err
	}
	text, err := shardmap.FoldPrefix(prefix)
	if err != nil {
		return 0, err
	}
	d := i.db.cfg.Catalog.View().Database(i.database)
	if d == nil {
		return 0, noDatabase()
	}
	targets, err := d.PrefixFragments(fragments)
	if err != nil {
		return 0, err
	}
	if r := d.PrefixRule(text); r != nil {
		if o.Buckets != 0 && o.Buckets != int64(r.Len()) {
			return 0, pgerr.Unsupported(`changing the number of buckets of prefix "%s" is not supported`, text).
				WithDetail("It has %d.", r.Len()).WithHint("Drop the rule, with rewrite => true where there are such ids, and make it anew.")
		}
		return i.movePrefix(text, targets, o)
	}
	return 0, i.addPrefix(text, targets, o)
}

func noDatabase() error {
	return pgerr.New(pgerr.InvalidCatalogName, "the database does not exist any more")
}

// movePrefix names other fragments for the buckets of a rule, and begins the moves.
func (i info) movePrefix(text string, fragments []uint32, o builtin.PrefixOptions) (int64, error) {
	errMore := errors.New("sql: the buckets were moved meanwhile")
	for {
		view := i.db.cfg.Catalog.View()
		d := view.Database(i.database)
		if d == nil {
			return 0, noDatabase()
		}
		if under := view.PrefixMoving(d, text, fragments); len(under) > 0 { // it has been asked for before
			if !o.Wait {
				return 0, nil
			}
			for _, job := range under {
				if err := i.waitMove(job); err != nil {
					return 0, err
				}
			}
			continue
		}
		moves, err := d.PrefixMoves(text, fragments)
		if err != nil {
			return 0, err
		}
		first, err := i.db.cfg.Catalog.NewJobIDs(i.ctx, max(len(moves), 1))
		if err != nil {
			return 0, err
		}
		n := 0
		err = i.topology("set_prefix", i.CurrentDatabase(), func(d *catalog.Database, c *catalog.Change) error {
			now, err := d.PrefixMoves(text, fragments)
			if n = len(now); err == nil && n > len(moves) {
				err = errMore
			}
			if err != nil {
				return err
			}
			return c.MovePrefix(d.OID, text, fragments, now, first, i.author(o.Why))
		})
		switch {
		case errors.Is(err, errMore):
			continue
		case err != nil:
			return 0, err
		}
		for k := 0; k < n && o.Wait; k++ {
			if err := i.waitMove(first + uint64(k)); err != nil {
				return int64(n), err
			}
		}
		return int64(n), nil
	}
}

// addPrefix makes a rule. Nobody uses a table meanwhile.
func (i info) addPrefix(text string, fragments []uint32, o builtin.PrefixOptions) error {
	n := o.Buckets
	switch {
	case n == 0:
		n = max(prefixBuckets, int64(len(fragments)))
	case n < int64(len(fragments)) || n > shardmap.MaxPrefixBuckets:
		return pgerr.New(pgerr.InvalidParameterValue, "a prefix has at least a bucket for each of its fragments and at most %d, not %d", shardmap.MaxPrefixBuckets, n)
	}
	probe := func(d *catalog.Database) shardmap.Prefixes {
		top := d.Map.Top()
		return d.Rules().With(shardmap.Prefix{Text: text, Interval: shardmap.Interval{Lo: top, Hi: top + uint32(n)}})
	}
	return i.changePrefixes(text, probe, o, func() (func(*catalog.Change) error, error) {
		if err := i.tryPrefix(text, fragments, uint32(n)); err != nil {
			return nil, err
		}
		all, err := i.db.cfg.Catalog.AssignPrefix(i.ctx, i.database, fragments, int(n))
		r := catalog.PrefixRule{Prefix: shardmap.Prefix{Text: text, Interval: all}, Fragments: fragments}
		return func(c *catalog.Change) error { return c.AddPrefix(i.database, r, i.author(o.Why)) }, err
	})
}

// tryPrefix makes a rule in a change that goes nowhere: a rule that is refused, as for a pinned anchor, must not have been given buckets.
func (i info) tryPrefix(text string, fragments []uint32, n uint32) error {
	view := i.db.cfg.Catalog.View()
	d := view.Database(i.database)
	if d == nil {
		return noDatabase()
	}
	top := d.Map.Top()
	r := catalog.PrefixRule{Prefix: shardmap.Prefix{Text: text, Interval: shardmap.Interval{Lo: top, Hi: top + n}}, Fragments: fragments}
	return view.Plan().RestorePrefixes(i.database, []catalog.PrefixRule{r}, i.author(""))
}

// DropPrefix implements builtin.PrefixInfo.
func (i info) DropPrefix(prefix string, o builtin.PrefixOptions) error {
	if err := i.reshape("drop_prefix"); err != nil {
		return err
	}
	text, err := shardmap.FoldPrefix(prefix)
	if err != nil {
		return err
	}
	drop := func(c *catalog.Change) error { return c.DropPrefix(i.database, text, i.author(o.Why)) }
	if d := i.db.cfg.Catalog.View().Database(i.database); d == nil || d.PrefixRule(text) == nil {
		return pgerr.New(pgerr.UndefinedObject, `there is no rule for prefix "%s"`, text).WithHint("sherd.prefixes lists them.")
	}
	without := func(d *catalog.Database) shardmap.Prefixes { return d.Rules().Without(text) }
	return i.changePrefixes(text, without, o, func() (func(*catalog.Change) error, error) { return drop, nil })
}

// changePrefixes changes the rules to what next gives, by the change that begin gives when it is known to be possible.
func (i info) changePrefixes(
	text string, next func(*catalog.Database) shardmap.Prefixes, o builtin.PrefixOptions, begin func() (func(*catalog.Change) error, error),
) (err error) {
	if i.tx == nil {
		return pgerr.Unsupported("rules for prefixes cannot be changed here")
	}
	if newest := i.db.cfg.Catalog.View().Database(i.database); i.tx.Schema != nil && i.tx.Schema.View.Database(i.database).PrefixEpoch != newest.PrefixEpoch {
		return pgerr.Unsupported("changing more than one rule for a prefix in a transaction is not supported").WithHint("Commit the first before the next.")
	}
	tables, err := i.lockPrefixTables()
	if err != nil {
		return err
	}
	t, draft := i.tx, i.tx.Schema
	defer func() {
		if err != nil {
			t.Schema = draft // the statement may be run again
		}
	}()
	if err := t.Parts.Bound(exec.ScopeCluster); err != nil {
		return err
	}
	var anew, doubted []catalog.OID
	view := i.view()
	for _, oid := range tables {
		t := view.Table(oid)
		x := rehousing{session: i.Session, view: view, was: t, text: text, rewrite: o.Rewrite}
		if err := x.look(i, next(view.Database(i.database))); err != nil {
			return err
		}
		if x.moving > 0 {
			anew = append(anew, oid)
		}
		if x.doubted {
			doubted = append(doubted, oid)
		}
	}
	edit, err := begin()
	if err != nil {
		return err
	}
	return ddl.ChangePrefixes(i.ctx, i.definer(i.keepNotice), tables, anew, doubted, edit)
}

// lockPrefixTables takes all tables that lie by rules for prefixes alone.
func (i info) lockPrefixTables() ([]catalog.OID, error) {
	var locked []catalog.OID
	for {
		tables := ddl.PrefixTables(i.view(), i.database)
		if !slices.ContainsFunc(tables, func(t catalog.OID) bool { return !slices.Contains(locked, t) }) {
			return tables, nil
		}
		if err := i.notInUse("change rules for prefixes of", tables); err != nil {
			return nil, err
		}
		for _, t := range tables {
			if !slices.Contains(locked, t) && i.tx.UsesAlready(t) {
				return nil, pgerr.New(pgerr.ObjectInUse, "rules for prefixes cannot be changed because tables are being used by active queries in this session")
			}
		}
		i.tx.DefineTables(tables...)
		if err := i.lockTables(i.ctx, tables); err != nil {
			return nil, err
		}
		locked = tables
	}
}

// rehousing looks for rows of a table that are to lie elsewhere under other rules for prefixes.
type rehousing struct {
	session *Session
	view    *catalog.View
	was     *catalog.Table
	text    string // the prefix
	rewrite bool

	moving  int64
	doubted bool // documents lie where their content did belong, and does not any more
}

func (x *rehousing) look(i info, next shardmap.Prefixes) error {
	if x.was.PrimaryKey() == nil {
		return nil // hidden ids are under no rule
	}
	def := x.was.Clone()
	def.Prefixes = next
	old, err := exec.NewPlacement(x.was)
	if err != nil {
		return err
	}
	now, err := exec.NewPlacement(def)
	if err != nil {
		return err
	}
	trusted := x.was.Anchors && x.was.Policy != nil && x.was.PolicyValidated
	row, columns := make([]types.Datum, len(x.was.Columns)), now.Columns()
	return x.session.queryAgainst(i.ctx, x.view, selectColumns(x.view, x.was, columns), func(got []types.Datum) error {
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
		if trusted && !x.doubted {
			_, _, err := now.Check(row)
			x.doubted = pgerr.Is(err, pgerr.CheckViolation)
			if err != nil && !x.doubted {
				return err
			}
		}
		return nil
	})
}

// refuse says that rows would have to move.
func (x *rehousing) refuse(id string, from shardmap.Bucket) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `table "%s" has ids under prefix "%s"`, x.was.Name, x.text).
		WithDetail(`"%s" lies in bucket %d, where it would not be looked for any more.`, id, from).
		WithHint("With rewrite => true the tables that have such ids are stored anew; their users wait meanwhile.")
}

// named says that an id names a bucket of the rule that is to go.
func (x *rehousing) named(id string, err error) error {
	if !pgerr.Is(err, pgerr.InvalidParameterValue) {
		return err
	}
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `table "%s" has an id that names a bucket of prefix "%s"`, x.was.Name, x.text).
		WithDetail("%s.", fmt.Sprintf("It is %q", id)).WithHint("Delete such documents first, or insert them anew, with a $ at the end of their ids.")
}
