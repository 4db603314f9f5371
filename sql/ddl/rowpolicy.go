package ddl

import (
	"cmp"
	"errors"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
)

// rowCommands are the commands of row policies, by their names in the parse tree.
var rowCommands = map[string]byte{"all": '*', "select": 'r', "insert": 'a', "update": 'w', "delete": 'd'}

// createRowPolicy is CREATE POLICY.
func createRowPolicy(r *runner, n *pg_query.CreatePolicyStmt) error {
	x := catalog.RowPolicy{Name: n.PolicyName, Command: rowCommands[n.CmdName], Restrictive: !n.Permissive}
	switch {
	case (x.Command == 'r' || x.Command == 'd') && n.WithCheck != nil:
		return pgerr.New(pgerr.SyntaxError, "WITH CHECK cannot be applied to SELECT or DELETE")
	case x.Command == 'a' && n.Qual != nil:
		return onlyCheck()
	}
	return changeGuarded(r, n.Table, "", func(c *change, t *catalog.Table) error {
		p := rowPolicyDraft{change: c, table: n.Table, x: x}
		if err := p.define(n.Roles, n.Qual, n.WithCheck); err != nil {
			return err
		}
		if t.RowPolicy(x.Name) != nil {
			return rowPolicyExists(x.Name, t)
		}
		if t.RowSecurity == nil {
			t.RowSecurity = &catalog.RowSecurity{}
		}
		var err error
		p.x.OID, err = c.newOID()
		t.RowSecurity.Policies = append(t.RowSecurity.Policies, p.x)
		return err
	})
}

func onlyCheck() error {
	return pgerr.New(pgerr.SyntaxError, "only WITH CHECK expression allowed for INSERT")
}

// alterRowPolicy is ALTER POLICY.
func alterRowPolicy(r *runner, n *pg_query.AlterPolicyStmt) error {
	return changeGuarded(r, n.Table, "", func(c *change, t *catalog.Table) error {
		p := rowPolicyDraft{change: c, table: n.Table}
		old := t.RowPolicy(n.PolicyName)
		if old != nil {
			p.x = *old
		}
		if err := p.define(n.Roles, n.Qual, n.WithCheck); err != nil {
			return err
		}
		switch {
		case old == nil:
			return noRowPolicy(n.PolicyName, t)
		case (old.Command == 'r' || old.Command == 'd') && n.WithCheck != nil:
			return pgerr.New(pgerr.SyntaxError, "only USING expression allowed for SELECT, DELETE")
		case old.Command == 'a' && n.Qual != nil:
			return onlyCheck()
		}
		*old = p.x
		return nil
	})
}

// rowPolicyDraft is a row policy that is being defined.
type rowPolicyDraft struct {
	*change
	table *pg_query.RangeVar
	x     catalog.RowPolicy
}

// define sets what a statement says of the policy, and keeps the rest.
func (p *rowPolicyDraft) define(roles []*pg_query.Node, using, check *pg_query.Node) error {
	if len(roles) > 0 {
		if err := p.roles(roles); err != nil {
			return err
		}
	}
	kept := p.x
	p.x.Uses = nil
	return errors.Join(p.condition(&p.x.Using, using, kept), p.condition(&p.x.Check, check, kept))
}

// roles reads TO.
func (p *rowPolicyDraft) roles(list []*pg_query.Node) error {
	p.x.Roles = nil
	for _, n := range list {
		if n.GetRoleSpec().GetRoletype() == pg_query.RoleSpecType_ROLESPEC_PUBLIC {
			if len(list) > 1 {
				p.warn("ignoring specified roles other than PUBLIC", "All roles are members of the PUBLIC role.")
			}
			p.x.Roles = []catalog.OID{acl.Public}
			return nil
		}
	}
	found, err := rolesOf(p.change, list)
	for _, role := range found {
		p.x.Roles = append(p.x.Roles, role.OID)
	}
	return err
}

func (p *rowPolicyDraft) warn(message, hint string) {
	p.notice(pgerr.Warning, "%s", message)
	e := p.notices[len(p.notices)-1]
	e.Severity, e.Hint = "WARNING", hint
}

// condition reads a condition, or keeps the one that is there, and adds what it uses.
func (p *rowPolicyDraft) condition(to *string, n *pg_query.Node, kept catalog.RowPolicy) error {
	if n != nil {
		ctx := p.analysis()
		ctx.Source = p.source
		d, err := analyze.DefineRowCondition(ctx, p.table, n)
		if err != nil {
			if e := pgerr.From(err); e != nil {
				e.Position = 0 // PostgreSQL reports no position here
			}
			return err
		}
		*to = d.Stored
		p.uses(d.Uses)
		return nil
	}
	if *to == "" {
		return nil
	}
	// What both conditions use is stored together: it is found again.
	uses, err := analyze.RowConditionUses(p.analysis(), *to)
	p.uses(uses)
	return err
}

// uses adds what a condition uses.
func (p *rowPolicyDraft) uses(list []catalog.Use) {
	for _, u := range list {
		same := func(v catalog.Use) bool { return v.Relation == u.Relation && v.Constraint == u.Constraint }
		i := slices.IndexFunc(p.x.Uses, same)
		if i < 0 {
			p.x.Uses = append(p.x.Uses, u)
			continue
		}
		columns := slices.Concat(p.x.Uses[i].Columns, u.Columns)
		slices.Sort(columns)
		p.x.Uses[i].Columns = slices.Compact(columns)
	}
	slices.SortFunc(p.x.Uses, func(a, b catalog.Use) int {
		return cmp.Or(cmp.Compare(a.Relation, b.Relation), cmp.Compare(a.Constraint, b.Constraint))
	})
}

// changeGuarded changes the row policies of a table, which the role must own. If there is a name, that policy
// must exist.
func changeGuarded(
	r *runner, rv *pg_query.RangeVar, name string, f func(c *change, t *catalog.Table) error,
) error {
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(rv) }, func(c *change) error {
		found, err := c.lookup(rv)
		switch {
		case err != nil:
			return err
		case found.system != nil:
			return systemCatalog(found.system.Name)
		case found.table == nil:
			return undefinedRelation(rv)
		case name != "" && found.table.RowPolicy(name) == nil:
			return noRowPolicy(name, found.table)
		case name != "" && !c.owns(found.table.Owner):
			return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of relation %s", found.table.Name)
		case !c.owns(found.table.Owner):
			return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", found.table.Name)
		case found.kind() != "table":
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not a table`, rv.Relname)
		}
		if err := c.requireLocked(found.table); err != nil {
			return err
		}
		t := found.table.Clone()
		if err := f(c, t); err != nil {
			return err
		}
		return c.ch.PutTable(t)
	})
}

func rowPolicyExists(name string, t *catalog.Table) error {
	return pgerr.New(pgerr.DuplicateObject, `policy "%s" for table "%s" already exists`, name, t.Name)
}

func noRowPolicy(name string, t *catalog.Table) error {
	return pgerr.New(pgerr.UndefinedObject, `policy "%s" for table "%s" does not exist`, name, t.Name)
}

// dropRowPolicy is DROP POLICY. Nothing depends on policies, so CASCADE has no effect.
func dropRowPolicy(r *runner, n *pg_query.DropStmt) error {
	names := n.Objects[0].GetList().GetItems()
	name, rv := texts(names)[len(names)-1], rangeVarOf(names[:len(names)-1])
	missing, err := missingPart(r, n, func(c *change) bool {
		f, err := c.lookup(rv)
		return err == nil && f.table != nil && f.table.RowPolicy(name) != nil
	})
	if missing || err != nil {
		return err
	}
	return changeGuarded(r, rv, name, func(_ *change, t *catalog.Table) error {
		cutParts(t, []catalog.OID{t.RowPolicy(name).OID})
		return nil
	})
}

func renameRowPolicy(r *runner, n *pg_query.RenameStmt) error {
	return changeGuarded(r, n.Relation, "", func(_ *change, t *catalog.Table) error {
		x := t.RowPolicy(n.Subname)
		switch {
		case t.RowPolicy(n.Newname) != nil:
			return rowPolicyExists(n.Newname, t)
		case x == nil:
			return noRowPolicy(n.Subname, t)
		}
		x.Name = n.Newname
		return nil
	})
}

func commentOnRowPolicy(r *runner, n *pg_query.CommentStmt) error {
	names := n.Object.GetList().GetItems()
	name, rv := texts(names)[len(names)-1], rangeVarOf(names[:len(names)-1])
	return changeGuarded(r, rv, name, func(_ *change, t *catalog.Table) error {
		t.RowPolicy(name).Comment = n.Comment
		return nil
	})
}

// switchRowSecurity is ENABLE, DISABLE, FORCE and NO FORCE ROW LEVEL SECURITY.
func switchRowSecurity(t *catalog.Table, what pg_query.AlterTableType) {
	if t.RowSecurity == nil {
		t.RowSecurity = &catalog.RowSecurity{}
	}
	switch s := t.RowSecurity; what {
	case pg_query.AlterTableType_AT_EnableRowSecurity:
		s.Enabled = true
	case pg_query.AlterTableType_AT_DisableRowSecurity:
		s.Enabled = false
	case pg_query.AlterTableType_AT_ForceRowSecurity:
		s.Forced = true
	case pg_query.AlterTableType_AT_NoForceRowSecurity:
		s.Forced = false
	}
}

// rowPolicyWords names a row policy in messages.
func rowPolicyWords(c *change, t *catalog.Table, x *catalog.RowPolicy) string {
	return "policy " + x.Name + " on table " + c.visibleName(t)
}

// keepsRowPolicies refuses to change the type of a column that a row policy uses.
func keepsRowPolicies(d *draft, col *catalog.Column) error {
	for _, t := range append([]*catalog.Table{d.t}, catalog.TablesGuardedBy(d.view, d.t.OID)...) {
		for i := range t.RowPolicies() {
			x := &t.RowSecurity.Policies[i]
			if u := x.UseOf(d.t.OID); u != nil && slices.Contains(u.Columns, col.AttNum) {
				words := rowPolicyWords(d.change, cmp.Or(d.was, t), x)
				if t != d.t {
					words = rowPolicyWords(d.change, t, x)
				}
				return pgerr.Unsupported("cannot alter type of a column used in a policy definition").
					WithDetail(`%s depends on column "%s"`, words, col.Name)
			}
		}
	}
	return nil
}

// dependentPolicy is a row policy, and the object that it depends on as messages name it.
type dependentPolicy struct {
	table *catalog.Table
	*catalog.RowPolicy
	on string
}

// dependentPolicies returns the row policies that use one of objects, by OID. Those of the tables in
// dropped are left out.
func dependentPolicies(c *change, objects []usedObject, dropped []*catalog.Table) (out []dependentPolicy) {
	for t := range c.view.Tables(c.Database) {
		if slices.ContainsFunc(dropped, func(d *catalog.Table) bool { return d.OID == t.OID }) {
			continue
		}
		for i := range t.RowPolicies() {
			x := &t.RowSecurity.Policies[i]
			for _, o := range objects {
				if o.usedBy(x, t) {
					out = append(out, dependentPolicy{t, x, o.words})
					break
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b dependentPolicy) int { return cmp.Compare(a.OID, b.OID) })
	return out
}

// usedBy reports whether a row policy of a table depends on an object: it does not on its table as such.
func (o usedObject) usedBy(x *catalog.RowPolicy, t *catalog.Table) bool {
	for _, u := range x.Uses {
		switch {
		case u.Relation+u.Constraint != o.oid: // one of them is 0
		case o.column != 0:
			return slices.Contains(u.Columns, o.column)
		default:
			return t.OID != o.oid
		}
	}
	return false
}

// policyLines returns the lines of DETAIL about row policies, and the objects that CASCADE drops.
func policyLines(c *change, list []dependentPolicy) (lines, gone []string) {
	for _, d := range list {
		words := rowPolicyWords(c, d.table, d.RowPolicy)
		lines, gone = append(lines, words+" depends on "+d.on), append(gone, words)
	}
	return lines, gone
}

// recordDroppedPolicies has dropRecordedKeys drop row policies too.
func recordDroppedPolicies(c *change, list []dependentPolicy) error {
	var parts []dependent
	for _, d := range list {
		parts = append(parts, dependent{Referrer: catalog.Referrer{
			Table: d.table, Key: &catalog.Constraint{OID: d.OID},
		}})
	}
	return c.recordDroppedKeys(parts)
}

// withGuarded adds the tables whose row policies use relations, to lock them.
func withGuarded(c *change, relations []catalog.OID) []catalog.OID {
	out := slices.Clone(relations)
	for _, oid := range relations {
		for _, t := range catalog.TablesGuardedBy(c.view, oid) {
			if !slices.Contains(out, t.OID) {
				out = append(out, t.OID)
			}
		}
	}
	return out
}

// policyUses returns the row policies of a table that a type or a function is in.
func policyUses(c *change, o dependee, t *catalog.Table) (out []typeUse) {
	for i := range t.RowPolicies() {
		x := &t.RowSecurity.Policies[i]
		if o.inText(x.Using + " " + x.Check) {
			out = append(out, typeUse{table: t, what: rowPolicyWords(c, t, x), of: o.words, part: x.OID})
		}
	}
	return out
}

// withoutRoles takes roles out of the row policies of a table. Policies for no other role are dropped.
func withoutRoles(t *catalog.Table, roles []catalog.OID) {
	if t.RowSecurity == nil {
		return
	}
	t.RowSecurity.Policies = slices.DeleteFunc(t.RowSecurity.Policies, func(x catalog.RowPolicy) bool {
		rest := slices.DeleteFunc(slices.Clone(x.Roles), func(r catalog.OID) bool { return slices.Contains(roles, r) })
		return len(rest) == 0
	})
	for i := range t.RowSecurity.Policies {
		x := &t.RowSecurity.Policies[i]
		x.Roles = slices.DeleteFunc(x.Roles, func(r catalog.OID) bool { return slices.Contains(roles, r) })
	}
}
