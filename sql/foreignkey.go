package sql

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Foreign keys are kept by statements that follow a client's statement, in its transaction, as PostgreSQL's triggers do. The executor notes the keys
// that the statement has written (exec.KeyChanges): new ones in referring tables, old ones in referenced tables. Then
//
//	a new key     its row in the referenced table is locked FOR KEY SHARE; 23503 where there is none
//	an old key    NO ACTION and RESTRICT look for rows that refer to it, the others delete or change them, which notes keys in turn
//
// Who writes a key that refers holds KEY SHARE on the referenced row to its end, who deletes or changes that row holds UPDATE: so of two who do both
// at once one waits, and sees what the other has done. The look for new keys is at the transaction's snapshot, with the rules of its level, as if
// the client had written it; what is done about old ones looks at the newest state at every level, because rows that a snapshot does not show
// refer too. A row that it has to change, and that came or changed after the snapshot, is 40001.
//
// What a SERIALIZABLE transaction reads for its foreign keys is not validated at the commit: the locks keep it true.

// references are the foreign keys that a program may have to keep, in the order in which it does: of each table that it writes those that refer to
// it before its own, the oldest first.
type references struct {
	list []reference

	mu       sync.Mutex
	programs map[string]*stmt.Program // by text; guarded by mu
}

// reference is one of them, from one of its sides; or a UNIQUE constraint of the program's that can be deferred.
type reference struct {
	key      *refint.Key
	incoming bool // it refers to a table of the program's
	unique   *uniqueKey
	former   *formerIDs // of a collection whose documents may have former ids
}

// constraint gives it as the catalog has it.
func (x *reference) constraint() *catalog.Constraint {
	if x.unique != nil {
		return x.unique.con
	}
	return x.key.Con
}

// referencesOf gives those of tables, each of which is written.
func referencesOf(view *catalog.View, tables ...*catalog.Table) *references {
	r := &references{}
	for _, t := range tables {
		goes, comes := formerIDsOf(view, t)
		r.list = append(append(r.list, goes...), comes...)
		for _, k := range refint.To(view, t) {
			r.list = append(r.list, reference{key: k, incoming: true})
		}
		for _, k := range refint.From(view, t) {
			r.list = append(r.list, reference{key: k})
		}
		for _, u := range deferrableOf(t) {
			r.list = append(r.list, reference{unique: u})
		}
	}
	if len(r.list) == 0 {
		return nil
	}
	r.programs = map[string]*stmt.Program{}
	return r
}

// watch says what the executor has to note.
func (r *references) watch(t *catalog.Table) []plan.KeyWatch {
	var out []plan.KeyWatch
	for i, x := range r.list {
		if x.unique != nil {
			continue
		}
		if x.former != nil {
			if w, ok := x.former.watch(t, i); ok {
				out = append(out, w)
			}
			continue
		}
		columns, of := x.key.Columns, x.key.Child
		if x.incoming {
			columns, of = x.key.Referenced, x.key.Parent
		}
		if of.OID != t.OID {
			continue
		}
		w := plan.KeyWatch{N: i, Old: x.incoming, Nulls: !x.incoming && x.key.Con.Reference.Match == catalog.MatchFull}
		for _, c := range columns {
			w.Columns = append(w.Columns, slices.IndexFunc(t.Columns, func(o catalog.Column) bool { return o.AttNum == c.AttNum }))
		}
		out = append(out, w)
	}
	return out
}

// referencesIn returns those of a program; nil: there are none.
func referencesIn(p *stmt.Program) *references {
	r, _ := p.Integrity.(*references)
	return r
}

// integrityOf has the keys noted that a query's foreign keys need (stmt.Hooks).
func integrityOf(view *catalog.View, q *query.Query, env *plan.Env) (any, []tx.TableUse) {
	var tables []*catalog.Table
	for _, q := range stmt.Writers(q) {
		t := q.Rels[q.Result].Table
		if !slices.ContainsFunc(tables, func(o *catalog.Table) bool { return o.OID == t.OID }) {
			tables = append(tables, t)
		}
	}
	r, uses := referencesOf(view, tables...), referenceUses(view, q)
	if r == nil {
		return nil, uses
	}
	for i := range r.list {
		if f := r.list[i].former; f != nil {
			f.upsert = q.OnConflict != nil
		}
	}
	env.Watch = r.watch
	return r, uses
}

// keyUse is one way in which a table's rows change, for the locks that follow from it.
type keyUse struct {
	table   catalog.OID
	deleted bool
}

// referenceUses lists the locks on tables that a query's foreign keys may need: ROW SHARE to look, ROW EXCLUSIVE to act.
func referenceUses(view *catalog.View, q *query.Query) []tx.TableUse {
	u := &useFinder{view: view, seen: map[keyUse]bool{}}
	for _, q := range stmt.Writers(q) {
		if view.Table(q.Rels[q.Result].Table.OID) != nil {
			u.written(q)
		}
	}
	return u.out
}

// written adds what one write may need.
func (u *useFinder) written(q *query.Query) {
	t := q.Rels[q.Result].Table
	if q.Command == query.Insert || q.Command == query.Update {
		u.outgoing(t, q)
	}
	if q.Command == query.Delete {
		u.incoming(t, nil, true)
	}
	if q.Command == query.Update || q.OnConflict != nil {
		u.incoming(t, q, false)
	}
}

// insertUses lists those of an INSERT into t.
func insertUses(view *catalog.View, t *catalog.Table) []tx.TableUse {
	u := &useFinder{view: view}
	u.outgoing(t, nil)
	return u.out
}

type useFinder struct {
	view *catalog.View
	seen map[keyUse]bool
	out  []tx.TableUse
}

// sets tells whether q may change one of the columns; a nil q changes all.
func sets(q *query.Query, columns []*catalog.Column) bool {
	if q == nil {
		return true
	}
	t := q.Rels[q.Result].Table
	assigned := q.Assign
	if q.OnConflict != nil {
		assigned = q.OnConflict.Assign
	}
	for _, c := range columns {
		if c.Generated != "" || slices.ContainsFunc(assigned, func(a query.Assignment) bool { return t.Columns[a.Col].AttNum == c.AttNum }) {
			return true
		}
	}
	return false
}

// outgoing adds what new keys of t refer to.
func (u *useFinder) outgoing(t *catalog.Table, q *query.Query) {
	for _, k := range refint.From(u.view, t) {
		if q == nil || q.Command == query.Insert || sets(q, k.Columns) {
			u.out = append(u.out, tx.TableUse{Table: k.Parent.OID, Mode: locks.RowShare})
		}
	}
}

// incoming adds what refers to keys of t that go.
func (u *useFinder) incoming(t *catalog.Table, q *query.Query, deleted bool) {
	if use := (keyUse{t.OID, deleted}); !u.seen[use] {
		u.seen[use] = true
	} else {
		return
	}
	for _, k := range refint.To(u.view, t) {
		if !deleted && !sets(q, k.Referenced) {
			continue
		}
		switch k.Action(deleted) {
		case catalog.NoAction, catalog.Restrict:
			u.out = append(u.out, tx.TableUse{Table: k.Child.OID, Mode: locks.RowShare})
			continue
		case catalog.Cascade:
			u.out = append(u.out, tx.TableUse{Table: k.Child.OID, Mode: locks.RowExclusive})
			if deleted {
				u.incoming(k.Child, nil, true)
				continue
			}
		default:
			u.out = append(u.out, tx.TableUse{Table: k.Child.OID, Mode: locks.RowExclusive})
		}
		u.outgoing(k.Child, nil)
		u.incoming(k.Child, nil, false)
	}
}

// keeping is the keeping of foreign keys after one statement, or of deferred ones. What the actions' own statements ask for waits in a queue, as
// PostgreSQL's triggers do: so a check that looks at rows which another action is about to remove comes after it.
type keeping struct {
	x     *stmt.Executor
	t     *transaction
	ctx   context.Context
	view  *catalog.View
	of    *references // whose statement runs now
	queue []keyTask
}

// keyTask is one foreign key to be kept.
type keyTask struct {
	of      *references
	ref     *reference
	changes []exec.KeyChange
}

// keep does what the foreign keys ask for after a statement; deferred checks are left to the commit.
func (t *transaction) keep(x *stmt.Executor, p *stmt.Program, c *exec.Ctx) error {
	if p.Integrity == nil || c.Keys.Empty() {
		return nil
	}
	own := *x // x itself stays on the stack
	k := &keeping{x: &own, t: t, ctx: c.Context, view: t.View()}
	k.after(p, c)
	return k.drain()
}

// after queues what follows from a statement.
func (k *keeping) after(p *stmt.Program, c *exec.Ctx) {
	if p.Integrity == nil || c.Keys.Empty() {
		return
	}
	if p.Query.Command != query.Insert || len(p.Query.CTEs) > 0 {
		c.Keys.Sort()
	}
	of := referencesIn(p)
	for i := range of.list {
		if changes := c.Keys.Of(i); len(changes) > 0 {
			k.queue = append(k.queue, keyTask{of, &of.list[i], changes})
		}
	}
}

// drain works until nothing is left to do.
func (k *keeping) drain() error {
	for len(k.queue) > 0 {
		t := k.queue[0]
		k.queue[0] = keyTask{}
		k.queue = k.queue[1:]
		k.of = t.of
		if err := k.one(t.ref, t.changes); err != nil {
			return err
		}
	}
	return nil
}

// one keeps one foreign key.
func (k *keeping) one(x *reference, changes []exec.KeyChange) error {
	t := k.t
	if x.former != nil {
		return k.formerIDs(x.former, changes)
	}
	deferred := t.deferred(x.constraint())
	if x.unique != nil {
		return t.defers(x, changes) // what was shared while it could be
	}
	if !x.incoming {
		if deferred {
			return t.defers(x, changes)
		}
		return k.check(x.key, changes)
	}
	for _, deleted := range []bool{true, false} {
		some := slices.DeleteFunc(slices.Clone(changes), func(ch exec.KeyChange) bool { return (ch.New == nil) != deleted })
		if len(some) == 0 {
			continue
		}
		action := x.key.Action(deleted)
		if action == catalog.NoAction && deferred {
			if err := t.defers(x, some); err != nil {
				return err
			}
			continue
		}
		if err := k.act(x.key, action, deleted, some); err != nil {
			return err
		}
	}
	return nil
}

// program compiles a statement of a foreign key, once for the program that it belongs to.
func (k *keeping) program(st refint.Statement) (*stmt.Program, error) {
	k.of.mu.Lock()
	p := k.of.programs[st.Text]
	k.of.mu.Unlock()
	if p != nil {
		return p, nil
	}
	c := *k.x.Compiler
	c.View, c.Uncommitted = k.view, k.t.Schema != nil
	q, err := c.Query(st.Text, st.Params...)
	if err != nil {
		return nil, err
	}
	if p, err = c.Compile(q, st.Params); err != nil {
		return nil, err
	}
	k.of.mu.Lock()
	k.of.programs[st.Text] = p
	k.of.mu.Unlock()
	return p, nil
}

// run runs a statement of a foreign key, and what follows from it in turn; newest: at the newest state, whatever the transaction's snapshot.
func (k *keeping) run(st refint.Statement, args []types.Datum, newest bool, emit exec.Emit) error {
	p, err := k.program(st)
	if err != nil {
		return err
	}
	t := k.t
	c := k.x.Context(k.ctx, t.Tx, args)
	c.Limits.MaxFanout, c.Limits.FanoutNotice, c.Limits.ReadOnly, c.Limits.Unvalidated = 0, 0, false, true
	if newest && t.At != 0 {
		at, err := t.CurrentEverywhere(k.ctx)
		if err != nil {
			return err
		}
		c.Gateway, c.Limits.Since = c.Gateway.ReadingAt(at), t.At
	}
	if emit == nil {
		emit = func([]types.Datum) error { return nil }
	}
	c.Deferred = t.uniquesDeferred(referencesIn(p))
	if _, err := k.x.Perform(t.Tx, p, c, emit); err != nil {
		return k.during(st, err)
	}
	k.after(p, c)
	return nil
}

// during says in CONTEXT in which statement of a foreign key an error came.
func (k *keeping) during(st refint.Statement, err error) error {
	where := func(e *pgerr.Error) *pgerr.Error {
		c := *e
		if c.Where != "" {
			c.Where += "\n"
		}
		c.Where += `SQL statement "` + st.Shown + `"`
		return &c
	}
	var conflict *txn.ConflictError
	var circle *txn.DeadlockError
	switch {
	case errors.As(err, &conflict):
		own := *conflict
		own.Err = where(conflict.Err)
		return &own
	case errors.As(err, &circle):
		own := *circle
		own.Err = where(circle.Err)
		return &own
	}
	return where(pgerr.From(err))
}

// exists tells whether a statement gives a row.
func (k *keeping) exists(st refint.Statement, args []types.Datum, newest bool) (bool, error) {
	found := false
	err := k.run(st, args, newest, func([]types.Datum) error {
		found = true
		return nil
	})
	return found, err
}
