package rowsecurity

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Apply adds row policies to a query that a role runs, and to the queries in it. off is row_security = off:
// a query that policies would change is refused.
func Apply(ctx *analyze.Context, q *query.Query, role catalog.OID, off bool) error {
	a := &application{ctx: ctx, role: role, off: off}
	return a.query(q, role)
}

// application is one run of Apply.
type application struct {
	ctx      *analyze.Context
	role     catalog.OID // that runs the statement
	off      bool
	subjects []*privilege.Subject
	seen     map[*query.Query]bool
	active   []catalog.OID // tables whose policies are being added
}

func (a *application) subject(role catalog.OID) *privilege.Subject {
	for _, s := range a.subjects {
		if s.Is(role) {
			return s
		}
	}
	s := privilege.Of(a.ctx.Catalog, a.ctx.Database, role)
	a.subjects = append(a.subjects, s)
	return s
}

// query adds row policies to q and the queries in it. role is the role whose policies count: the query of
// a view has those of its owner, unless it is security_invoker.
func (a *application) query(q *query.Query, role catalog.OID) error {
	if q == nil || a.seen[q] {
		return nil
	}
	if a.seen == nil {
		a.seen = map[*query.Query]bool{}
	}
	a.seen[q] = true
	if q.Inlined {
		role = a.role
	}
	inner := subLinks(q) // without those of the policies that are added
	for i := range q.Rels {
		if err := a.relation(q, i, role); err != nil {
			return err
		}
	}
	for _, r := range q.Rels {
		as := role
		if r.View != nil {
			as = queryRole(r.View, role)
		}
		if err := a.query(r.Subquery, as); err != nil {
			return err
		}
	}
	for _, c := range q.CTEs {
		inner = append(inner, c.Query)
	}
	if q.SetOp != nil {
		inner = append(inner, q.SetOp.Left, q.SetOp.Right)
	}
	for _, s := range append(inner, q.Source) {
		if err := a.query(s, role); err != nil {
			return err
		}
	}
	return nil
}

// subLinks returns the subqueries in the expressions of q itself.
func subLinks(q *query.Query) (out []*query.Query) {
	query.WalkQuery(q, func(e query.Expr, depth int) {
		if s, ok := e.(*query.SubLink); ok && depth == 0 {
			out = append(out, s.Query)
		}
	})
	return out
}

// queryRole returns the role with whose privileges the query of a view runs, if role uses the view.
func queryRole(view *catalog.Table, role catalog.OID) catalog.OID {
	if view.SecurityInvoker() {
		return role
	}
	return view.Owner
}

// relation adds the policies of one relation of q.
func (a *application) relation(q *query.Query, i int, role catalog.OID) error {
	r := q.Rels[i]
	if r.Kind != query.RelTable || r.Table == nil || r.Table.RowSecurity == nil {
		return nil
	}
	target := q.Command != query.Select && q.Result == i
	if target {
		for _, v := range r.Through {
			role = queryRole(v, role)
		}
	}
	me := a.subject(role)
	switch {
	case !Active(r.Table, me):
		return nil
	case a.off:
		return refused(r.Table, me)
	}
	g := &guard{application: a, q: q, rel: i, me: me}
	var err error
	if target {
		err = g.target()
	} else {
		err = g.source()
	}
	if err != nil || len(g.inner) == 0 {
		return err
	}
	if slices.Contains(a.active, r.Table.OID) {
		return pgerr.New(pgerr.InvalidObjectDefinition, `infinite recursion detected in policy for relation "%s"`,
			r.Table.Name)
	}
	a.active = append(a.active, r.Table.OID)
	for _, s := range g.inner {
		if err := a.query(s, role); err != nil {
			return err
		}
	}
	a.active = a.active[:len(a.active)-1]
	return nil
}

// guard adds the policies of a table that a query reads or writes (get_row_security_policies).
type guard struct {
	*application
	q     *query.Query
	rel   int
	me    *privilege.Subject
	inner []*query.Query // subqueries of the policies
}

// Letters of pg_policy.polcmd.
const (
	forSelect = 'r'
	forInsert = 'a'
	forUpdate = 'w'
	forDelete = 'd'
)

// source hides rows of a table that the query reads, and perhaps locks.
func (g *guard) source() error {
	r := g.q.Rels[g.rel]
	locks := func(l query.RowLock) bool { return slices.Contains(l.Rels, g.rel) }
	if r.Named.Locked || slices.ContainsFunc(g.q.Locking, locks) {
		if err := g.hide(forUpdate); err != nil {
			return err
		}
	}
	return g.hide(forSelect)
}

// target hides rows that the query would write, and adds checks of new rows.
func (g *guard) target() error {
	reads := g.reads()
	switch g.q.Command {
	case query.Delete:
		return g.hides(forDelete, reads)
	case query.Update:
		if err := g.hides(forUpdate, reads); err != nil {
			return err
		}
		return g.checks(forUpdate, query.RowUpdated, reads)
	case query.Insert:
		if err := g.checks(forInsert, query.RowInserted, reads); err != nil {
			return err
		}
		if g.q.OnConflict == nil || !g.q.OnConflict.Update {
			return nil
		}
		if err := g.check(forUpdate, query.RowConflicted, true); err != nil {
			return err
		}
		if reads {
			if err := g.check(forSelect, query.RowConflicted, true); err != nil {
				return err
			}
		}
		return g.checks(forUpdate, query.RowUpdated, reads)
	}
	return pgerr.Unsupported("%s of a table with row security is not supported yet", g.q.Command).
		WithHint("Use INSERT, UPDATE and DELETE.")
}

// reads reports whether the statement needs the right to read the target: because it reads columns, in
// WHERE or RETURNING, or names the key of ON CONFLICT.
func (g *guard) reads() bool {
	r := g.q.Rels[g.rel]
	if g.q.OnConflict != nil && g.q.OnConflict.Named {
		return true
	}
	if len(r.Through) > 0 {
		return len(r.Named.View) > 0
	}
	return len(query.ColumnsRead(g.q, g.rel)) > 0
}

// hides is hide for a command that perhaps needs the right to read as well.
func (g *guard) hides(command byte, reads bool) error {
	if err := g.hide(command); err != nil || !reads {
		return err
	}
	return g.hide(forSelect)
}

// checks is check for a command that perhaps needs the right to read as well.
func (g *guard) checks(command byte, row query.RowCheck, reads bool) error {
	if err := g.check(command, row, false); err != nil || !reads {
		return err
	}
	return g.check(forSelect, row, true)
}

// policies returns the policies for a command and the role, in the order in which PostgreSQL evaluates
// them.
func (g *guard) policies(command byte) (permissive, restrictive []*catalog.RowPolicy) {
	list := g.q.Rels[g.rel].Table.RowPolicies()
	for i := range list {
		x := &list[i]
		if !x.AppliesTo(command) || !x.ForAll() && !slices.ContainsFunc(x.Roles, g.me.Acts) {
			continue
		}
		if x.Restrictive {
			restrictive = append(restrictive, x)
		} else {
			permissive = append(permissive, x)
		}
	}
	byName := func(x, y *catalog.RowPolicy) int { return strings.Compare(x.Name, y.Name) }
	slices.SortFunc(restrictive, byName)
	slices.SortFunc(permissive, func(x, y *catalog.RowPolicy) int { return byName(y, x) })
	return permissive, restrictive
}

// hide adds the conditions USING of the policies for a command (add_security_quals).
func (g *guard) hide(command byte) error {
	permissive, restrictive := g.policies(command)
	any, err := g.either(permissive, true)
	if err != nil {
		return err
	}
	if any == nil {
		g.secure(never())
		return nil
	}
	for _, x := range restrictive {
		e, err := g.condition(x, true)
		if err != nil {
			return err
		}
		if e != nil {
			g.secure(e)
		}
	}
	g.secure(any)
	return nil
}

// secure adds a condition, once.
func (g *guard) secure(e query.Expr) {
	r := g.q.Rels[g.rel]
	if !slices.ContainsFunc(r.Security, func(x query.Expr) bool { return query.Equal(x, e) }) {
		r.Security = append(r.Security, e)
	}
}

// check adds checks of rows for a command: WITH CHECK, or without it or with using set USING
// (add_with_check_options).
func (g *guard) check(command byte, row query.RowCheck, using bool) error {
	permissive, restrictive := g.policies(command)
	any, err := g.either(permissive, using)
	if err != nil {
		return err
	}
	if any == nil {
		g.add(query.Check{Expr: never(), Row: row})
		return nil
	}
	g.add(query.Check{Expr: any, Row: row})
	for _, x := range restrictive {
		e, err := g.condition(x, using)
		if err != nil {
			return err
		}
		if e != nil {
			g.add(query.Check{Name: x.Name, Expr: e, Row: row})
		}
	}
	return nil
}

// add adds a check, once.
func (g *guard) add(c query.Check) {
	c.Generated = -1
	same := func(x query.Check) bool {
		return x.Row == c.Row && x.Name == c.Name && query.Equal(x.Expr, c.Expr)
	}
	if !slices.ContainsFunc(g.q.Checks, same) {
		g.q.Checks = append(slices.Clip(g.q.Checks), c)
	}
}

// either returns a condition that rows meet which one of the policies allows; nil: there is none.
func (g *guard) either(list []*catalog.RowPolicy, using bool) (query.Expr, error) {
	var any []query.Expr
	for _, x := range list {
		e, err := g.condition(x, using)
		if err != nil {
			return nil, err
		}
		if e != nil {
			any = append(any, e)
		}
	}
	switch len(any) {
	case 0:
		return nil, nil
	case 1:
		return any[0], nil
	}
	return &query.Or{Args: any}, nil
}

// condition analyzes a condition of a policy over the entry of its table; nil: there is none.
func (g *guard) condition(x *catalog.RowPolicy, using bool) (query.Expr, error) {
	text := x.Using
	if !using && x.Check != "" {
		text = x.Check
	}
	if text == "" {
		return nil, nil
	}
	e, err := analyze.RowCondition(g.ctx, text)
	if err != nil {
		return nil, err
	}
	holder := query.RewriteAll(&query.Query{Where: e}, func(e query.Expr, depth int) (query.Expr, bool) {
		v, ok := e.(*query.Var)
		if !ok || v.Up != depth {
			return nil, false
		}
		own := *v
		own.Rel = g.rel
		return &own, true
	})
	g.inner = append(g.inner, subLinks(holder)...)
	return holder.Where, nil
}

func never() query.Expr {
	return &query.Const{T: query.Of(types.Bool), Value: types.NewBool(false)}
}
