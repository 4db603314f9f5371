package ddl

import (
	"errors"
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// createDomain is CREATE DOMAIN.
func createDomain(r *runner, n *pg_query.CreateDomainStmt) error {
	return unplaced(r.update(func(c *change) error {
		schema, name, err := splitStatisticsName(c, n.Domainname)
		if err != nil {
			return err
		}
		s, err := c.target(&pg_query.RangeVar{Schemaname: schema, Relname: name, Location: -1})
		if err != nil {
			return err
		}
		if err := checkTypeName(c, s.OID, name); err != nil {
			return err
		}
		t := &catalog.Type{Database: c.Database, Schema: s.OID, Name: name, Owner: c.me.OID, Kind: catalog.DomainType,
			Domain: &catalog.Domain{}, ACL: defaultACL(c, 'T', c.me.OID, s.OID)}
		d := t.Domain
		if d.Base, d.Typmod, err = usableType(c, n.TypeName); err != nil {
			return err
		}
		if err := checkBaseType(c, d.Base); err != nil {
			return err
		}
		if d.Collation, err = (&draft{change: c}).collation(types.BaseOf(d.Base), n.CollClause); err != nil {
			return err
		}
		if t.OID, err = domainOID(c, d.Base); err != nil {
			return err
		}
		if err := domainConstraints(c, t, n.Constraints); err != nil {
			return err
		}
		return t.Put(c.ch)
	}))
}

// unplaced returns an error without its position: PostgreSQL reports none for the parts of a domain.
func unplaced(err error) error {
	if e := pgerr.From(err); e != nil && e.Position != 0 {
		c := *e
		c.Position = 0
		return &c
	}
	return err
}

// domainOID returns an OID for a domain over a type that no domain has.
func domainOID(c *change, base types.OID) (types.OID, error) {
	for {
		n, err := c.newOID()
		if err != nil {
			return 0, err
		}
		if oid := types.DomainOID(base, n); catalog.TypeByOID(c.view, oid) == nil {
			return oid, nil
		}
	}
}

func checkBaseType(c *change, oid types.OID) error {
	p := pgcatalog.TypeByOID(oid)
	if p != nil && p.Kind == 'p' {
		return pgerr.New(pgerr.DatatypeMismatch, `"%s" is not a valid base type for a domain`, p.Name)
	}
	k := types.KindOf(oid)
	if p == nil || k == types.KindNull || k == types.KindRecord || types.BaseOf(oid) >= 1<<13 {
		return pgerr.Unsupported("domains over type %s are not supported yet", formatType(c, oid, -1)).
			WithHint("Use a built-in type, or a domain over one.")
	}
	return nil
}

// domainConstraints reads the constraints of CREATE DOMAIN.
func domainConstraints(c *change, t *catalog.Type, list []*pg_query.Node) error {
	syntax := func(text string) error { return pgerr.New(pgerr.SyntaxError, "%s", text) }
	var null, hasDefault bool
	for _, node := range list {
		k := node.GetConstraint()
		switch k.Contype {
		case pg_query.ConstrType_CONSTR_DEFAULT:
			if hasDefault {
				return syntax("multiple default expressions")
			}
			hasDefault = true
			if err := setDomainDefault(c, t, k.RawExpr); err != nil {
				return err
			}
		case pg_query.ConstrType_CONSTR_NOTNULL:
			if null {
				return syntax("conflicting NULL/NOT NULL constraints")
			}
			t.Domain.NotNull = true
		case pg_query.ConstrType_CONSTR_NULL:
			if t.Domain.NotNull {
				return syntax("conflicting NULL/NOT NULL constraints")
			}
			null = true
		case pg_query.ConstrType_CONSTR_CHECK:
			if _, err := addDomainCheck(c, t, k); err != nil {
				return err
			}
		default:
			return noDomainConstraint(k)
		}
	}
	return nil
}

// noDomainConstraint returns the error for a constraint that domains do not have.
func noDomainConstraint(k *pg_query.Constraint) error {
	words := map[pg_query.ConstrType]string{
		pg_query.ConstrType_CONSTR_UNIQUE: "unique", pg_query.ConstrType_CONSTR_PRIMARY: "primary key",
		pg_query.ConstrType_CONSTR_EXCLUSION: "exclusion", pg_query.ConstrType_CONSTR_FOREIGN: "foreign key",
	}
	if w, ok := words[k.Contype]; ok {
		return pgerr.New(pgerr.SyntaxError, "%s constraints not possible for domains", w)
	}
	switch k.Contype {
	case pg_query.ConstrType_CONSTR_GENERATED, pg_query.ConstrType_CONSTR_IDENTITY:
		return pgerr.Unsupported("specifying GENERATED not supported for domains")
	}
	return pgerr.Unsupported("specifying constraint deferrability not supported for domains")
}

// setDomainDefault sets the default of a domain; nil removes it.
func setDomainDefault(c *change, t *catalog.Type, n *pg_query.Node) error {
	t.Domain.Default = ""
	if n == nil {
		return nil
	}
	e, err := analyze.Default(c.analysis(), analyze.Source{Text: c.source, Node: n},
		query.Column{Name: t.Name, Type: types.BaseOf(t.OID), Typmod: t.Domain.Typmod})
	if err != nil {
		return err
	}
	if !isNull(e) {
		t.Domain.Default = deparse.Expr(e)
	}
	return nil
}

// addDomainCheck adds a CHECK constraint to a domain.
func addDomainCheck(c *change, t *catalog.Type, k *pg_query.Constraint) (*catalog.Constraint, error) {
	if k.IsNoInherit {
		return nil, pgerr.New(pgerr.InvalidObjectDefinition,
			"check constraints for domains cannot be marked NO INHERIT")
	}
	e, err := analyze.DomainCheck(c.analysis(), analyze.Source{Text: c.source, Node: k.RawExpr}, t.Domain.Base,
		t.Domain.Typmod)
	if err != nil {
		return nil, err
	}
	name := k.Conname
	taken := func(name string) bool { return domainCheck(t, name) >= 0 }
	if name != "" && taken(name) {
		return nil, pgerr.New(pgerr.DuplicateObject, `constraint "%s" for domain "%s" already exists`, name, t.Name)
	}
	for pass := 0; name == ""; pass++ {
		label := "check"
		if pass > 0 {
			label = fmt.Sprintf("check%d", pass)
		}
		if made := makeName(t.Name, "", label); !taken(made) {
			name = made
		}
	}
	oid, err := c.newOID()
	if err != nil {
		return nil, err
	}
	t.Domain.Checks = append(t.Domain.Checks,
		catalog.Constraint{OID: oid, Name: name, Kind: catalog.Check, Check: deparse.Expr(e), Valid: !k.SkipValidation})
	return &t.Domain.Checks[len(t.Domain.Checks)-1], nil
}

func domainCheck(t *catalog.Type, name string) int {
	return slices.IndexFunc(t.Domain.Checks, func(k catalog.Constraint) bool { return k.Name == name })
}

// domainToAlter finds a domain, which the role must own.
func domainToAlter(c *change, names []*pg_query.Node) (*catalog.Type, error) {
	found, err := findType(c, names, false)
	switch {
	case err != nil:
		return nil, err
	case found.user == nil || found.user.Domain == nil || found.array:
		return nil, pgerr.New(pgerr.WrongObjectType, "%s is not a domain", found.shown(c))
	}
	return found.user.Clone(), mustOwnType(c, found.user)
}

// withDomains returns types and the domains over them.
func withDomains(c *change, list []*catalog.Type) []*catalog.Type {
	return typesOver(c, list, func(t *catalog.Type) bool { return t.Domain != nil })
}

// withTypes returns types, and the domains and composite types that use them.
func withTypes(c *change, list []*catalog.Type) []*catalog.Type {
	return typesOver(c, list, func(*catalog.Type) bool { return true })
}

func typesOver(c *change, list []*catalog.Type, include func(*catalog.Type) bool) []*catalog.Type {
	out := slices.Clone(list)
	for i := 0; i < len(out); i++ {
		for _, x := range out[i].TypesOver(c.view) {
			if include(x) && !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return out
}

// changeDomain changes a domain. The tables that use it are locked, and their definitions get new
// versions: statements that were planned before are planned again (C2).
func changeDomain(r *runner, names []*pg_query.Node, f func(*change, *catalog.Type) error) error {
	find := func(c *change) []catalog.OID {
		n, err := findType(c, names, false)
		if err != nil || n.user == nil || n.user.Domain == nil {
			return nil
		}
		return usersOfTypes(c, withDomains(c, []*catalog.Type{n.user}))
	}
	return r.updateExclusive(find, func(c *change) error {
		t, err := domainToAlter(c, names)
		if err != nil {
			return err
		}
		if err := f(c, t); err != nil {
			return err
		}
		for _, oid := range find(c) {
			x := c.view.Table(oid)
			if err := errors.Join(c.requireLocked(x), c.ch.PutTable(x)); err != nil {
				return err
			}
		}
		return t.Put(c.ch)
	})
}

// alterDomain is ALTER DOMAIN.
func alterDomain(r *runner, n *pg_query.AlterDomainStmt) error {
	return unplaced(changeDomain(r, n.TypeName, func(c *change, t *catalog.Type) error {
		missing := pgerr.New(pgerr.UndefinedObject, `constraint "%s" of domain "%s" does not exist`, n.Name, t.Name)
		at := domainCheck(t, n.Name)
		switch n.Subtype {
		case "T":
			return setDomainDefault(c, t, n.Def)
		case "N":
			t.Domain.NotNull = false
		case "O":
			t.Domain.NotNull = true
			return scanDomain(c, t, "value IS NULL", nil)
		case "C":
			k := n.Def.GetConstraint()
			if k.Contype != pg_query.ConstrType_CONSTR_CHECK {
				return noDomainConstraint(k)
			}
			added, err := addDomainCheck(c, t, k)
			if err != nil || !added.Valid {
				return err
			}
			return scanDomain(c, t, "NOT ("+added.Check+")", added)
		case "X":
			if at < 0 && n.MissingOk {
				c.noticeSkipped(missing)
				return nil
			}
			if at < 0 {
				return missing
			}
			t.Domain.Checks = slices.Delete(t.Domain.Checks, at, at+1)
		case "V":
			if at < 0 {
				return missing
			}
			k := &t.Domain.Checks[at]
			k.Valid = true
			return scanDomain(c, t, "NOT ("+k.Check+")", k)
		}
		return nil
	}))
}

// scanDomain returns an error if a row has a value of the domain that satisfies a condition on the
// column value. k is the constraint that it violates, nil for NOT NULL.
func scanDomain(c *change, t *catalog.Type, where string, k *catalog.Constraint) error {
	list := withDomains(c, []*catalog.Type{catalog.TypeByOID(c.view, t.OID)})
	for _, oid := range usersOfTypes(c, list) {
		x := c.view.Table(oid)
		for i := range x.Columns {
			col := &x.Columns[i]
			if x.IsView() || !col.Stored() ||
				!slices.ContainsFunc(list, func(d *catalog.Type) bool { return d.OID == col.Type }) {
				continue
			}
			bad, err := c.anyRow(c.view, "SELECT 1 FROM (SELECT "+builtin.QuoteIdent(col.Name)+" AS value FROM "+
				c.quoted(c.view, x)+") x WHERE "+where+" LIMIT 1")
			if err != nil {
				return err
			}
			if bad {
				return domainViolated(c, x, col, k)
			}
		}
	}
	return nil
}

func domainViolated(c *change, t *catalog.Table, col *catalog.Column, k *catalog.Constraint) error {
	e := pgerr.New(pgerr.NotNullViolation, `column "%s" of table "%s" contains null values`, col.Name, t.Name)
	if k != nil {
		e = pgerr.New(pgerr.CheckViolation,
			`column "%s" of table "%s" contains values that violate the new constraint`, col.Name, t.Name)
	}
	e.Schema, e.Table, e.Column = c.view.Schema(t.Schema).Name, t.Name, col.Name
	return e
}

// renameDomainConstraint is ALTER DOMAIN … RENAME CONSTRAINT.
func renameDomainConstraint(r *runner, n *pg_query.RenameStmt) error {
	return changeDomain(r, n.Object.GetList().GetItems(), func(_ *change, t *catalog.Type) error {
		at := domainCheck(t, n.Subname)
		switch {
		case at < 0:
			return pgerr.New(pgerr.UndefinedObject, `constraint "%s" of domain "%s" does not exist`, n.Subname, t.Name)
		case domainCheck(t, n.Newname) >= 0:
			return pgerr.New(pgerr.DuplicateObject, `constraint "%s" for domain "%s" already exists`, n.Newname, t.Name)
		}
		t.Domain.Checks[at].Name = n.Newname
		return nil
	})
}

// commentOnDomainConstraint is COMMENT ON CONSTRAINT … ON DOMAIN.
func commentOnDomainConstraint(r *runner, n *pg_query.CommentStmt) error {
	items := n.Object.GetList().GetItems()
	if len(items) != 2 {
		return pgerr.New(pgerr.SyntaxError, "domain name must be specified")
	}
	name := items[1].GetString_().GetSval()
	return r.update(func(c *change) error {
		t, err := domainToAlter(c, items[0].GetTypeName().GetNames())
		if err != nil {
			return err
		}
		at := domainCheck(t, name)
		if at < 0 {
			return pgerr.New(pgerr.UndefinedObject, `constraint "%s" for domain %s does not exist`, name,
				formatType(c, t.OID, -1))
		}
		t.Domain.Checks[at].Comment = n.Comment
		return t.Put(c.ch)
	})
}

// addDomainColumn fills a new column whose domain has a default or constraints, in the existing rows.
func addDomainColumn(d *draft, col *catalog.Column) error {
	if !types.IsDomain(col.Type) || col.Default != "" || col.Generated != "" {
		return nil
	}
	text := analyze.DomainDefault(d.view, col.Type)
	if text == "" {
		text = "NULL"
	}
	src, err := analyze.ParseExpression(text)
	if err != nil {
		return err
	}
	e, err := analyze.Default(d.analysis(), src, query.Column{Name: col.Name, Type: col.Type, Typmod: col.Typmod})
	if err != nil {
		return err
	}
	if r, ok := e.(*query.Relabel); ok && isNull(r.Arg) {
		return nil // nothing restricts it
	}
	d.becomes[col.AttNum], d.restored = e, true
	return nil
}
