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
	return changeGuarded(r, n.Table, rowPolicyOwner, func(c *change, t *catalog.Table) error {
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
	return changeGuarded(r, n.Table, rowPolicyOwner, func(c *change, t *catalog.Table) error {
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

// What messages say of a table whose policies a role may not change.
const (
	rowPolicyOwner = "table"
	ownerOfPart    = "relation"
)

// changeGuarded changes the row policies of a table, which the role must own.
func changeGuarded(
	r *runner, rv *pg_query.RangeVar, owned string, f func(c *change, t *catalog.Table) error,
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
		case !c.owns(found.table.Owner):
			return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of %s %s", owned, found.table.Name)
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
	return changeGuarded(r, rv, ownerOfPart, func(_ *change, t *catalog.Table) error {
		x := t.RowPolicy(name)
		if x == nil {
			return noRowPolicy(name, t)
		}
		cutParts(t, []catalog.OID{x.OID})
		return nil
	})
}

func renameRowPolicy(r *runner, n *pg_query.RenameStmt) error {
	return changeGuarded(r, n.Relation, rowPolicyOwner, func(_ *change, t *catalog.Table) error {
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
	return changeGuarded(r, rv, ownerOfPart, func(_ *change, t *catalog.Table) error {
		x := t.RowPolicy(name)
		if x == nil {
			return noRowPolicy(name, t)
		}
		x.Comment = n.Comment
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
