package stmt

import (
	"errors"
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/rowsecurity"
)

// checkPrivileges refuses a query on relations that the role may not use, or with functions that it may
// not call. The answer depends on definitions and the role alone, so it holds as long as a cached
// program does.
func (c *Compiler) checkPrivileges(q *query.Query) error {
	k := checker{view: c.View, database: c.Database, role: c.Role}
	me := k.subject(c.Role)
	if me.Role == nil {
		return pgerr.New(pgerr.UndefinedObject, "role with OID %d does not exist", c.Role)
	}
	if err := k.query(q, c.Role); err != nil || me.Superuser() {
		return err
	}
	return k.functions(q, me)
}

// checker checks the privileges that one query needs.
type checker struct {
	view           *catalog.View
	database, role catalog.OID
	subjects       []*privilege.Subject
}

func (k *checker) subject(role catalog.OID) *privilege.Subject {
	for _, s := range k.subjects {
		if s.Is(role) {
			return s
		}
	}
	s := privilege.Of(k.view, k.database, role)
	k.subjects = append(k.subjects, s)
	return s
}

// query checks q and every query in it, for the role whose privileges count: those of a view's query
// are used by its owner, except that a view with security_invoker leaves them to the user of the view.
func (k *checker) query(q *query.Query, role catalog.OID) error {
	if q == nil {
		return nil
	}
	if q.Inlined {
		role = k.role
	}
	for i := range q.Rels {
		if err := k.relation(q, i, role); err != nil {
			return err
		}
	}
	for _, r := range q.Rels {
		as := role
		if r.View != nil {
			as = queryRole(r.View, role)
		}
		if err := k.query(r.Subquery, as); err != nil {
			return err
		}
	}
	own, below := subLinks(q), []*query.Query(nil)
	if q.Command != query.Select && len(q.Rels[q.Result].Through) > 0 {
		own, below = withoutPolicies(q, own)
	}
	for _, s := range own {
		if err := k.query(s, role); err != nil {
			return err
		}
	}
	for _, s := range below { // the row policies of the table below views
		if err := k.query(s, tableRole(q.Rels[q.Result], role)); err != nil {
			return err
		}
	}
	for _, x := range q.CTEs {
		if err := k.query(x.Query, role); err != nil {
			return err
		}
	}
	if q.SetOp != nil {
		if err := k.query(q.SetOp.Left, role); err != nil {
			return err
		}
		if err := k.query(q.SetOp.Right, role); err != nil {
			return err
		}
	}
	return k.query(q.Source, role)
}

// relation checks what q does with one of its relations.
func (k *checker) relation(q *query.Query, i int, role catalog.OID) error {
	r := q.Rels[i]
	target := q.Command != query.Select && q.Result == i
	switch {
	case r.Kind == query.RelExcluded:
		return k.excluded(q, i, role)
	case r.Table == nil && r.View == nil:
		return nil
	case target && len(r.Through) > 0:
		return k.through(q, role)
	case target:
		return k.target(q, r.Table, role, query.ColumnsRead(q, i))
	}
	t := r.Table
	if r.View != nil {
		t = r.View
	}
	if err := k.reads(t, role, func() []int { return query.ColumnsRead(q, i) }); err != nil {
		return err
	}
	locks := func(l query.RowLock) bool { return slices.Contains(l.Rels, i) }
	if (r.Named.Locked || slices.ContainsFunc(q.Locking, locks)) && !k.subject(role).HasAnyColumn(t, acl.Update) {
		return privilege.Denied(t)
	}
	return nil
}

// through checks a write to a table below views. The columns of a view are those of the table below it
// by their positions in the view's query.
func (k *checker) through(q *query.Query, role catalog.OID) error {
	r := q.Rels[q.Result]
	for n, v := range r.Through {
		if n == 0 {
			if err := k.writes(q, v, role, r.OfView); err != nil {
				return err
			}
			if err := k.selects(v, role, r.Named.View); err != nil {
				return err
			}
		} else if err := k.writes(q, v, role, nil); err != nil {
			return err
		}
		role = queryRole(v, role)
	}
	read := []int(nil)
	if len(r.Named.View) > 0 {
		read = query.ColumnsRead(q, q.Result)
	}
	return k.target(q, r.Table, role, read)
}

// excluded checks what ON CONFLICT reads of the rows that were not inserted.
func (k *checker) excluded(q *query.Query, i int, role catalog.OID) error {
	r, columns := q.Rels[q.Result], query.ColumnsRead(q, i)
	if len(r.Through) == 0 {
		return k.selects(r.Table, role, columns)
	}
	for n, v := range r.Through {
		own := []int(nil)
		for _, col := range columns {
			if of := r.OfView(col); n == 0 && of >= 0 {
				own = append(own, of)
			} else {
				own = append(own, query.ColWholeRow)
			}
		}
		if err := k.selects(v, role, own); err != nil {
			return err
		}
		role = queryRole(v, role)
	}
	return k.selects(r.Table, role, columns)
}

// target checks a write to a table. read are the columns that the statement reads.
func (k *checker) target(q *query.Query, t *catalog.Table, role catalog.OID, read []int) error {
	if err := k.writes(q, t, role, func(column int) int { return column }); err != nil {
		return err
	}
	if q.DoesNothing() { // also if it reads no column
		return k.reads(t, role, func() []int { return read })
	}
	return k.selects(t, role, append(read, arbiterColumns(q, t)...))
}

// selects checks that the role may read columns, if there are any.
func (k *checker) selects(t *catalog.Table, role catalog.OID, columns []int) error {
	if len(columns) == 0 {
		return nil
	}
	return k.reads(t, role, func() []int { return columns })
}

// reads checks that the role may read columns of a relation, or if there are none, any column.
func (k *checker) reads(t *catalog.Table, role catalog.OID, columns func() []int) error {
	me := k.subject(role)
	if me.Relation(t, acl.Select, true) != 0 {
		return nil
	}
	return needed(me, t, acl.Select, columns())
}

// needed checks that the role has a privilege on columns, or if there are none, on any column.
func needed(me *privilege.Subject, t *catalog.Table, mode acl.Mode, columns []int) error {
	if len(columns) == 0 {
		if me.HasAnyColumn(t, mode) {
			return nil
		}
		return privilege.Denied(t)
	}
	for _, at := range columns {
		switch {
		case at == query.ColWholeRow:
			for i := range t.Columns {
				if c := &t.Columns[i]; !c.Dropped && me.Column(t, c, mode, true) == 0 {
					return privilege.Denied(t)
				}
			}
		case at < 0 || at >= len(t.Columns) || me.Column(t, &t.Columns[at], mode, true) == 0:
			return privilege.Denied(t)
		}
	}
	return nil
}

// writes checks the privileges to insert, update or delete. column returns the position of a column of
// the table below views, negative if there is none; nil: the privileges on the whole relation count.
func (k *checker) writes(q *query.Query, t *catalog.Table, role catalog.OID, column func(int) int) error {
	me := k.subject(role)
	columns := func(of []query.Assignment) (out []int) {
		for _, a := range of {
			if column == nil {
				return []int{query.ColWholeRow}
			}
			out = append(out, column(a.Col))
		}
		return out
	}
	check := func(mode acl.Mode, columns []int) error {
		if me.Relation(t, mode, true) != 0 {
			return nil
		}
		return needed(me, t, mode, columns)
	}
	switch q.Command {
	case query.Delete:
		if me.Relation(t, acl.Delete, true) == 0 {
			return privilege.Denied(t)
		}
		return nil
	case query.Update:
		return check(acl.Update, columns(q.Assign))
	case query.Merge:
		return merges(q, t, me, check)
	}
	err := check(acl.Insert, columns(assignments(q.Rels[q.Result].Named.Given)))
	if err != nil || q.OnConflict == nil || !q.OnConflict.Update {
		return err
	}
	return check(acl.Update, columns(q.OnConflict.Assign))
}

// merges checks the privileges that the actions of MERGE need.
func merges(q *query.Query, t *catalog.Table, me *privilege.Subject, check func(acl.Mode, []int) error) error {
	for _, a := range q.Merge {
		mode, columns := acl.Insert, a.Given
		switch {
		case a.Nothing:
			continue
		case a.Command == query.Delete && me.Relation(t, acl.Delete, true) == 0:
			return privilege.Denied(t)
		case a.Command == query.Delete:
			continue
		case a.Command == query.Update:
			mode, columns = acl.Update, nil
			for _, x := range a.Assign {
				columns = append(columns, x.Col)
			}
		}
		if err := check(mode, columns); err != nil {
			return err
		}
	}
	return nil
}

// assignments returns assignments to columns.
func assignments(columns []int) (out []query.Assignment) {
	for _, col := range columns {
		out = append(out, query.Assignment{Col: col})
	}
	return out
}

// arbiterColumns returns the columns of the unique keys that ON CONFLICT names.
func arbiterColumns(q *query.Query, t *catalog.Table) (out []int) {
	oc := q.OnConflict
	if oc == nil || !oc.Named {
		return nil
	}
	add := func(columns []int16) {
		for _, att := range columns {
			at := slices.IndexFunc(t.Columns, func(c catalog.Column) bool { return c.AttNum == att })
			out = append(out, at)
		}
	}
	if pk := t.PrimaryKey(); oc.Primary && pk != nil {
		add(pk.Columns)
	}
	for _, x := range q.Indexes {
		if !slices.Contains(oc.Indexes, x.Def.OID) {
			continue
		}
		for _, e := range append(slices.Clone(x.Keys), x.Where) {
			query.Walk(e, func(e query.Expr) bool {
				if v, ok := e.(*query.Var); ok && v.Rel == q.Result {
					out = append(out, v.Col)
				}
				return true
			})
		}
	}
	return out
}

// tableRole returns the role with whose privileges the table of a target is used, if role names the
// target.
func tableRole(r *query.Rel, role catalog.OID) catalog.OID {
	for _, v := range r.Through {
		role = queryRole(v, role)
	}
	return role
}

// withoutPolicies splits subqueries of a write into its own and those of row policies.
func withoutPolicies(q *query.Query, list []*query.Query) (own, policies []*query.Query) {
	holder := &query.Query{Rels: []*query.Rel{{Security: q.Rels[q.Result].Security}}}
	for _, c := range q.Checks {
		if c.Row != query.NoRowCheck {
			holder.Checks = append(holder.Checks, c)
		}
	}
	policies = subLinks(holder)
	own = slices.DeleteFunc(list, func(s *query.Query) bool { return slices.Contains(policies, s) })
	return own, policies
}

// guarded reports whether row security changes what a query, or one in it, reads or writes.
func guarded(q *query.Query) bool {
	if q == nil {
		return false
	}
	found := slices.ContainsFunc(q.Checks, func(c query.Check) bool { return c.Row != query.NoRowCheck })
	inner := append(subLinks(q), q.Source)
	for _, r := range q.Rels {
		found = found || len(r.Security) > 0
		inner = append(inner, r.Subquery)
	}
	for _, c := range q.CTEs {
		inner = append(inner, c.Query)
	}
	if q.SetOp != nil {
		inner = append(inner, q.SetOp.Left, q.SetOp.Right)
	}
	return found || slices.ContainsFunc(inner, guarded)
}

// queryRole returns the role with whose privileges the query of a view runs, if role uses the view.
func queryRole(view *catalog.Table, role catalog.OID) catalog.OID {
	if view.SecurityInvoker() {
		return role
	}
	return view.Owner
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

// functions checks that the role may call the functions in a query, also in views, defaults and
// constraints. Functions that not all roles may call are not inlined, so that their calls are found.
func (k *checker) functions(q *query.Query, me *privilege.Subject) error {
	var err error
	query.WalkQuery(q, func(e query.Expr, _ int) {
		call, ok := e.(*query.Call)
		if !ok || call.Proc.Language == "" || err != nil {
			return
		}
		if f := catalog.FunctionByOID(k.view, call.Proc.OID); f != nil {
			err = me.MayCall(f)
		}
	})
	return err
}

// CheckTable returns an error unless the compiler's role has one of the privileges on a relation.
func (c *Compiler) CheckTable(t *catalog.Table, anyOf acl.Mode) error {
	return CheckRelation(c.View, c.Database, c.Role, t, anyOf)
}

// CheckRelation returns an error unless a role has one of the privileges on a relation.
func CheckRelation(view *catalog.View, database, role catalog.OID, t *catalog.Table, anyOf acl.Mode) error {
	if privilege.Of(view, database, role).Relation(t, anyOf, true) == 0 {
		return privilege.Denied(t)
	}
	return nil
}

// Conceal returns an error without the values of rows that a role may not read: DETAIL shows those of the
// table that the error names.
func Conceal(view *catalog.View, database, role catalog.OID, err error) error {
	var e *pgerr.Error
	if !errors.As(err, &e) || e.Table == "" || e.Detail == "" {
		return err
	}
	me := privilege.Of(view, database, role)
	t := view.FindTable(database, e.Schema, e.Table)
	if t == nil || me.Superuser() {
		return err
	}
	var columns []int16
	k := t.Constraint(e.Constraint)
	switch {
	case k != nil && k.Kind == catalog.ForeignKey:
		return concealKey(me, t, k, e)
	case k != nil && k.Kind != catalog.Check:
		columns = k.Columns
	case e.Code == pgerr.UniqueViolation:
		for i := range t.Indexes {
			if x := &t.Indexes[i]; x.Name == e.Constraint && !slices.Contains(x.Columns, 0) {
				columns = x.Columns
			}
		}
	}
	if reads(me, t, columns) {
		return err
	}
	out := *e
	out.Detail = ""
	return &out
}

// reads reports whether a role may read columns of a table, or if there are none, all columns, in all rows.
func reads(me *privilege.Subject, t *catalog.Table, columns []int16) bool {
	if rowsecurity.Active(t, me) {
		return false
	}
	if me.Relation(t, acl.Select, true) != 0 {
		return true
	}
	for _, att := range columns {
		if c := t.ColumnByNum(att); c == nil || me.Column(t, c, acl.Select, true) == 0 {
			return false
		}
	}
	return len(columns) > 0
}

// concealKey is Conceal for foreign keys: the key is one of the table that has been written.
func concealKey(me *privilege.Subject, t *catalog.Table, k *catalog.Constraint, e *pgerr.Error) error {
	own, columns, detail := t, k.Columns, ""
	parent := me.View.Table(k.Reference.Table)
	switch {
	case !strings.HasPrefix(e.Detail, "Key ") || parent == nil:
		return e
	case strings.HasPrefix(e.Message, "update or delete"):
		own, columns = parent, k.Reference.Columns
		detail = `Key is still referenced from table "` + t.Name + `".`
	default:
		detail = `Key is not present in table "` + parent.Name + `".`
	}
	if reads(me, own, columns) {
		return e
	}
	out := *e
	out.Detail = detail
	return &out
}
