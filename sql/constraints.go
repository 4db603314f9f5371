package sql

import (
	"context"
	"maps"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/stmt"
)

// deferrals are the constraints of a transaction that are checked at its commit, and what waits for that.
type deferrals struct {
	all     byte                 // SET CONSTRAINTS ALL: 'd' deferred, 'i' immediate, 0 as they are defined
	modes   map[catalog.OID]bool // SET CONSTRAINTS of single ones since then; never changed, but replaced
	pending []int                // that have keys waiting, as the transaction numbers them; never changed, but replaced

	from, to int64 // where the keys are in the transaction's log of them, in the order of the statements
}

// deferred tells whether a constraint is checked at the commit.
func (t *transaction) deferred(con *catalog.Constraint) bool {
	if !con.Deferrable {
		return false
	}
	d := &t.deferrals
	if deferred, ok := d.modes[con.OID]; ok {
		return deferred
	}
	if d.all != 0 {
		return d.all == 'd'
	}
	return con.InitiallyDeferred
}

// defers leaves keys to the commit.
func (t *transaction) defers(of *reference, changes []exec.KeyChange) error {
	if len(changes) == 0 {
		return nil
	}
	if t.keys == nil {
		t.keys = exec.NewKeyLog(t.tempDir)
	}
	d := &t.deferrals
	t.keys.Truncate(d.to) // what a savepoint has undone
	n := t.number(of)
	if err := t.keys.Add(n, changes); err != nil {
		return err
	}
	if d.to = t.keys.Size(); !slices.Contains(d.pending, n) {
		d.pending = append(slices.Clone(d.pending), n)
	}
	return nil
}

// number gives a constraint its number in the log of keys: the same for each statement that defers its keys.
func (t *transaction) number(of *reference) int {
	n := slices.IndexFunc(t.keysOf, func(x *reference) bool { return x.constraint() == of.constraint() && x.incoming == of.incoming })
	if n < 0 {
		n = len(t.keysOf)
		t.keysOf = append(t.keysOf, of)
	}
	return n
}

// checkDeferred checks what was deferred, all of it with force, else that of constraints which are immediate now.
func (s *Session) checkDeferred(ctx context.Context, force bool) error {
	due := func(n int) bool { return force || !s.tx.deferred(s.tx.keysOf[n].constraint()) }
	if !slices.ContainsFunc(s.tx.deferrals.pending, due) {
		return nil
	}
	return s.tx.settleDeferred(ctx, s.executor(ctx), due)
}

// settleDeferred checks the deferred keys of the constraints that are due.
func (t *transaction) settleDeferred(ctx context.Context, x stmt.Executor, due func(n int) bool) error {
	d := &t.deferrals
	from, to, pending := d.from, d.to, d.pending
	d.from, d.pending = d.to, nil
	if slices.ContainsFunc(pending, func(n int) bool { return !due(n) }) { // these wait behind the others
		err := t.keys.Each(from, to, func(n int, changes []exec.KeyChange) error {
			if due(n) {
				return nil
			}
			return t.defers(t.keysOf[n], changes)
		})
		if err != nil {
			return err
		}
	}
	view := t.View()
	programs := map[catalog.OID]*references{}
	return t.keys.Each(from, to, func(n int, changes []exec.KeyChange) error {
		if !due(n) {
			return nil
		}
		return t.settleKeys(ctx, &x, view, t.keysOf[n], programs, changes)
	})
}

// settleKeys checks keys of one constraint. Programs are kept by constraint.
func (t *transaction) settleKeys(
	ctx context.Context, x *stmt.Executor, view *catalog.View, of *reference, programs map[catalog.OID]*references,
	changes []exec.KeyChange,
) error {
	if of.unique != nil {
		return of.unique.settle(x.Context(ctx, t.Tx, nil), view, changes)
	}
	key := current(view, of.key)
	if key == nil {
		return nil // dropped since
	}
	if programs[key.Con.OID] == nil {
		programs[key.Con.OID] = &references{programs: map[string]*stmt.Program{}}
	}
	k := &keeping{x: x, t: t, ctx: ctx, view: view, of: programs[key.Con.OID]}
	if of.incoming {
		return k.refuse(key, catalog.NoAction, changes) // which asks for nothing more
	}
	return k.check(key, changes)
}

// current gives a foreign key as it is defined now, nil where it is not there any more.
func current(view *catalog.View, key *refint.Key) *refint.Key {
	t := view.Table(key.Child.OID)
	if t == nil {
		return nil
	}
	i := slices.IndexFunc(t.Constraints, func(c catalog.Constraint) bool { return c.OID == key.Con.OID })
	if i < 0 {
		return nil
	}
	return refint.Of(view, t, &t.Constraints[i])
}

// setConstraints is SET CONSTRAINTS. What is immediate from now on is checked at once.
func (s *Session) setConstraints(ctx context.Context, n *pg_query.ConstraintsSetStmt, w stmt.ResultWriter) error {
	if err := s.warnNoBlock(w, "SET CONSTRAINTS"); err != nil {
		return err
	}
	list, err := s.constraintsNamed(n)
	if err != nil {
		return err
	}
	if t := s.tx; t != nil {
		if len(n.Constraints) == 0 {
			t.deferrals.all, t.deferrals.modes = 'i', nil
			if n.Deferred {
				t.deferrals.all = 'd'
			}
		} else {
			modes := maps.Clone(t.deferrals.modes)
			if modes == nil {
				modes = map[catalog.OID]bool{}
			}
			for _, con := range list {
				modes[con.OID] = n.Deferred
			}
			t.deferrals.modes = modes
		}
		if !n.Deferred {
			if err := s.checkDeferred(ctx, false); err != nil {
				return err
			}
		}
	}
	return w.Complete("SET CONSTRAINTS")
}

// constraintsNamed finds the constraints that SET CONSTRAINTS names: all of a name in the first schema that has one.
func (s *Session) constraintsNamed(n *pg_query.ConstraintsSetStmt) ([]*catalog.Constraint, error) {
	view := s.view()
	var out []*catalog.Constraint
	for _, x := range n.Constraints {
		rv := x.GetRangeVar()
		if d := view.Database(s.database); rv.Catalogname != "" && d != nil && rv.Catalogname != d.Name {
			return nil, pgerr.Unsupported(`cross-database references are not implemented: "%s.%s.%s"`, rv.Catalogname, rv.Schemaname, rv.Relname)
		}
		path := s.currentCompiler().SearchPath()
		if rv.Schemaname != "" {
			if path = []string{rv.Schemaname}; view.SchemaByName(s.database, rv.Schemaname) == nil {
				return nil, pgerr.New(pgerr.InvalidSchemaName, `schema "%s" does not exist`, rv.Schemaname)
			}
		}
		found, err := deferrableNamed(view, s.database, path, rv.Relname, n.Deferred)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func deferrableNamed(view *catalog.View, database catalog.OID, path []string, name string, deferred bool) ([]*catalog.Constraint, error) {
	for _, schema := range path {
		sc := view.SchemaByName(database, schema)
		if sc == nil {
			continue
		}
		var out []*catalog.Constraint
		found := false
		for t := range view.TablesIn(sc.OID) {
			con := t.Constraint(name)
			if con == nil {
				continue
			}
			found = true
			switch {
			case con.Deferrable:
				out = append(out, con)
			case deferred:
				return nil, pgerr.New(pgerr.WrongObjectType, `constraint "%s" is not deferrable`, name)
			}
		}
		if found {
			return out, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, `constraint "%s" does not exist`, name)
}

// awaits tells whether a deferred check is about rows of a table that the transaction has written.
func (t *transaction) awaits(table catalog.OID) bool {
	return slices.ContainsFunc(t.deferrals.pending, func(n int) bool {
		of := t.keysOf[n]
		if of.unique != nil {
			return of.unique.table == table
		}
		return of.incoming && of.key.Parent.OID == table || !of.incoming && of.key.Child.OID == table
	})
}
