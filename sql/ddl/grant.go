package ddl

import (
	"errors"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/privilege"
)

// granting is GRANT or REVOKE on objects (aclchk.c of PostgreSQL).
type granting struct {
	*change
	n        *pg_query.GrantStmt
	me       *privilege.Subject
	grantees []uint32
	objects  []*grantable
	tables   map[catalog.OID]*catalog.Table
}

// grantable is an object whose access list changes.
type grantable struct {
	kind  acl.Kind
	word  string // of messages
	name  string
	owner catalog.OID
	list  acl.List
	table *catalog.Table // of relations
	put   func(list acl.List) error
}

// grant is GRANT and REVOKE on objects.
func grant(r *runner, n *pg_query.GrantStmt) error {
	find := func(c *change) []catalog.OID { return grantedTables(c, n) }
	return r.updateReserved(find, func(c *change) error {
		g := &granting{change: c, n: n, me: subject(c), tables: map[catalog.OID]*catalog.Table{}}
		if n.Grantor != nil {
			grantor, err := c.role(n.Grantor)
			if err != nil {
				return err
			}
			if grantor.OID != c.me.OID {
				return pgerr.Unsupported("grantor must be current user")
			}
		}
		var err error
		if g.grantees, err = granteesOf(c, n.Grantees); err != nil {
			return err
		}
		all, columns, err := privilegesOf(n)
		if err != nil {
			return err
		}
		if err := g.find(); err != nil {
			return err
		}
		for _, o := range g.objects {
			if err := g.change1(o, all, columns); err != nil {
				return err
			}
		}
		return g.putTables()
	})
}

// granteesOf returns the roles of a list; acl.Public is PUBLIC.
func granteesOf(c *change, nodes []*pg_query.Node) (out []uint32, err error) {
	for _, n := range nodes {
		spec := n.GetRoleSpec()
		if spec.GetRoletype() == pg_query.RoleSpecType_ROLESPEC_PUBLIC {
			out = append(out, acl.Public)
			continue
		}
		role, err := c.role(spec)
		if err != nil {
			return nil, err
		}
		out = append(out, role.OID)
	}
	return out, nil
}

// grantKinds are the privileges that a statement may name for a kind of objects, and how messages name
// the kind.
var grantKinds = map[pg_query.ObjectType]struct {
	all  acl.Mode
	word string
}{
	pg_query.ObjectType_OBJECT_TABLE:     {acl.Relation.All() | acl.Sequence.All(), "relation"},
	pg_query.ObjectType_OBJECT_SEQUENCE:  {acl.Sequence.All(), "sequence"},
	pg_query.ObjectType_OBJECT_DATABASE:  {acl.Database.All(), "database"},
	pg_query.ObjectType_OBJECT_DOMAIN:    {acl.Type.All(), "domain"},
	pg_query.ObjectType_OBJECT_TYPE:      {acl.Type.All(), "type"},
	pg_query.ObjectType_OBJECT_FUNCTION:  {acl.Function.All(), "function"},
	pg_query.ObjectType_OBJECT_PROCEDURE: {acl.Function.All(), "procedure"},
	pg_query.ObjectType_OBJECT_ROUTINE:   {acl.Function.All(), "routine"},
	pg_query.ObjectType_OBJECT_LANGUAGE:  {acl.Language.All(), "language"},
	pg_query.ObjectType_OBJECT_SCHEMA:    {acl.Schema.All(), "schema"},
}

// columnPrivilege is a privilege on columns.
type columnPrivilege struct {
	mode  acl.Mode
	names []string
}

// privilegesOf returns the privileges that a statement names; 0 is ALL.
func privilegesOf(n *pg_query.GrantStmt) (mode acl.Mode, columns []columnPrivilege, err error) {
	kind, ok := grantKinds[n.Objtype]
	if !ok {
		return 0, nil, pgerr.Unsupported("%s ON %s is not supported yet", grantWord(n.IsGrant), kindWord(n.Objtype)).
			WithHint("Databases, schemas, relations, columns, functions, types and languages have privileges.")
	}
	for _, node := range n.Privileges {
		p := node.GetAccessPriv()
		word := strings.ToUpper(p.PrivName)
		m := acl.ModeOf(word)
		if m == 0 && p.PrivName != "" {
			return 0, nil, pgerr.New(pgerr.SyntaxError, `unrecognized privilege type "%s"`, p.PrivName)
		}
		if len(p.Cols) == 0 {
			if m&^kind.all != 0 {
				return 0, nil, pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type %s for %s",
					m.Words()[0], kind.word)
			}
			mode |= m
			continue
		}
		if n.Objtype != pg_query.ObjectType_OBJECT_TABLE {
			return 0, nil, pgerr.New(pgerr.InvalidGrantOperation, "column privileges are only valid for relations")
		}
		if m == 0 {
			m = acl.Column.All()
		}
		columns = append(columns, columnPrivilege{m, texts(p.Cols)})
	}
	return mode, columns, nil
}

// grantedTables returns the relations that a statement names, to lock them.
func grantedTables(c *change, n *pg_query.GrantStmt) (out []catalog.OID) {
	if n.Objtype != pg_query.ObjectType_OBJECT_TABLE && n.Objtype != pg_query.ObjectType_OBJECT_SEQUENCE {
		return nil
	}
	for _, o := range n.Objects {
		if rv := o.GetRangeVar(); rv != nil {
			out = append(out, c.find(rv)...)
		} else if s := c.view.SchemaByName(c.Database, o.GetString_().GetSval()); s != nil {
			for t := range c.view.TablesIn(s.OID) {
				out = append(out, t.OID)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// find finds the objects of the statement.
func (g *granting) find() error {
	if g.n.Targtype == pg_query.GrantTargetType_ACL_TARGET_ALL_IN_SCHEMA {
		for _, o := range g.n.Objects {
			if err := g.findIn(o.GetString_().GetSval()); err != nil {
				return err
			}
		}
		return nil
	}
	for _, o := range g.n.Objects {
		if err := g.findOne(o); err != nil {
			return err
		}
	}
	return nil
}

// findIn finds all objects of a kind in a schema.
func (g *granting) findIn(name string) error {
	if catalog.IsBuiltinSchema(name) {
		return builtInObjects()
	}
	s, err := g.schemaNamed(name)
	if err == nil {
		err = g.me.UsesSchema(name)
	}
	if err != nil {
		return err
	}
	switch g.n.Objtype {
	case pg_query.ObjectType_OBJECT_TABLE, pg_query.ObjectType_OBJECT_SEQUENCE:
		for _, t := range g.tablesOf([]*catalog.Schema{s}) {
			if (t.Sequence != nil) == (g.n.Objtype == pg_query.ObjectType_OBJECT_SEQUENCE) {
				if err := g.addTable(t); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for f := range catalog.FunctionsIn(g.view, s.OID) {
		procedure := f.Kind == 'p'
		if procedure && g.n.Objtype != pg_query.ObjectType_OBJECT_FUNCTION ||
			!procedure && g.n.Objtype != pg_query.ObjectType_OBJECT_PROCEDURE {
			g.addFunction(f.Clone())
		}
	}
	return nil
}

func builtInObjects() error {
	return pgerr.Unsupported("privileges on objects of the system cannot be changed").
		WithHint("Grant the membership in a predefined role.")
}

// findOne finds an object by its name.
func (g *granting) findOne(o *pg_query.Node) error {
	switch g.n.Objtype {
	case pg_query.ObjectType_OBJECT_TABLE, pg_query.ObjectType_OBJECT_SEQUENCE:
		return g.findTable(o.GetRangeVar())
	case pg_query.ObjectType_OBJECT_DATABASE:
		d, err := g.databaseNamed(o.GetString_().GetSval())
		if err != nil {
			return err
		}
		d = d.Clone()
		g.objects = append(g.objects, &grantable{
			kind: acl.Database, word: "database", name: d.Name, owner: d.Owner, list: d.ACL,
			put: func(l acl.List) error { d.ACL = l; return g.ch.PutDatabase(d) },
		})
	case pg_query.ObjectType_OBJECT_SCHEMA:
		name := o.GetString_().GetSval()
		if catalog.IsBuiltinSchema(name) {
			return builtInObjects()
		}
		s, err := g.schemaNamed(name)
		if err != nil {
			return err
		}
		s = s.Clone()
		g.objects = append(g.objects, &grantable{
			kind: acl.Schema, word: "schema", name: s.Name, owner: s.Owner, list: privilege.SchemaList(s),
			put: func(l acl.List) error { s.ACL = l; return g.ch.PutSchema(s) },
		})
	case pg_query.ObjectType_OBJECT_LANGUAGE:
		return g.findLanguage(o.GetString_().GetSval())
	case pg_query.ObjectType_OBJECT_TYPE, pg_query.ObjectType_OBJECT_DOMAIN:
		return g.findType(o)
	default:
		p, err := findRoutine(g.change, g.n.Objtype, o.GetObjectWithArgs())
		if err != nil {
			return err
		}
		f := catalog.FunctionByOID(g.view, p.OID)
		if f == nil {
			return builtInObjects()
		}
		g.addFunction(f.Clone())
	}
	return nil
}

func (g *granting) findTable(rv *pg_query.RangeVar) error {
	f, err := g.lookup(rv)
	switch {
	case err != nil:
		return err
	case f.system != nil:
		return builtInObjects()
	case f.table == nil:
		return undefinedRelation(rv)
	case f.index != nil:
		return pgerr.New(pgerr.WrongObjectType, `"%s" is an index`, f.index.Name)
	case g.n.Objtype == pg_query.ObjectType_OBJECT_SEQUENCE && f.table.Sequence == nil:
		return pgerr.New(pgerr.WrongObjectType, `"%s" is not a sequence`, f.table.Name)
	}
	return g.addTable(f.table)
}

func (g *granting) addTable(t *catalog.Table) error {
	if err := g.requireLocked(t); err != nil {
		return err
	}
	own := g.tables[t.OID]
	if own == nil {
		own = t.Clone()
		g.tables[t.OID] = own
	}
	word := "table"
	if own.Sequence != nil {
		word = "sequence"
	}
	g.objects = append(g.objects, &grantable{
		kind: privilege.KindOf(own), word: word, name: own.Name, owner: own.Owner, list: own.ACL, table: own,
		put: func(l acl.List) error { own.ACL = l; return nil },
	})
	return nil
}

// putTables puts the relations whose lists have changed, each once.
func (g *granting) putTables() error {
	for _, o := range g.objects {
		if o.table == nil || g.tables[o.table.OID] == nil {
			continue
		}
		delete(g.tables, o.table.OID)
		if err := g.ch.PutTable(o.table); err != nil {
			return err
		}
	}
	return nil
}

func (g *granting) addFunction(f *catalog.Function) {
	g.objects = append(g.objects, &grantable{
		kind: acl.Function, word: "function", name: f.Name, owner: f.Owner, list: f.ACL,
		put: func(l acl.List) error { f.ACL = l; return f.Put(g.ch) },
	})
}

func (g *granting) findLanguage(name string) error {
	oid, trusted := privilege.LanguageOID(name)
	switch {
	case oid == 0:
		return pgerr.New(pgerr.UndefinedObject, `language "%s" does not exist`, name)
	case !trusted:
		return pgerr.New(pgerr.WrongObjectType, `language "%s" is not trusted`, name).
			WithDetail("GRANT and REVOKE are not allowed on untrusted languages, because only superusers can use " +
				"untrusted languages.")
	}
	d := g.view.Database(g.Database).Clone()
	g.objects = append(g.objects, &grantable{
		kind: acl.Language, word: "language", name: name, owner: catalog.BootstrapRole, list: d.LanguageACLs[oid],
		put: func(l acl.List) error {
			if d.LanguageACLs == nil {
				d.LanguageACLs = map[catalog.OID]acl.List{}
			}
			d.LanguageACLs[oid] = l
			return g.ch.PutDatabase(d)
		},
	})
	return nil
}

func (g *granting) findType(o *pg_query.Node) error {
	names := o.GetTypeName().GetNames()
	if list := o.GetList(); list != nil {
		names = list.Items
	}
	n, err := findType(g.change, names, len(o.GetTypeName().GetArrayBounds()) > 0)
	switch {
	case err != nil:
		return err
	case n.array:
		return pgerr.New(pgerr.InvalidGrantOperation, "cannot set privileges of array types").
			WithHint("Set the privileges of the element type instead.")
	case n.user == nil:
		return builtInObjects()
	case g.n.Objtype == pg_query.ObjectType_OBJECT_DOMAIN && n.user.Domain == nil:
		return pgerr.New(pgerr.WrongObjectType, `"%s" is not a domain`, n.user.Name)
	}
	t := n.user.Clone()
	g.objects = append(g.objects, &grantable{
		kind: acl.Type, word: "type", name: t.Name, owner: t.Owner, list: t.ACL,
		put: func(l acl.List) error { t.ACL = l; return t.Put(g.ch) },
	})
	return nil
}

// change1 changes the access lists of one object.
func (g *granting) change1(o *grantable, mode acl.Mode, columns []columnPrivilege) error {
	all := mode == 0 && len(columns) == 0
	if all {
		mode = o.kind.All()
	}
	old := o.list.Or(o.kind, o.owner)
	if o.table != nil {
		old = o.table.ACL.Or(o.kind, o.owner) // an earlier object of the statement may be the same
		var err error
		if mode, err = g.fitting(o, mode); err != nil {
			return err
		}
	}
	if mode != 0 {
		now, err := g.apply(o, old, old, mode, all, nil)
		if err != nil {
			return err
		}
		if err := o.put(now); err != nil {
			return err
		}
	}
	if o.table == nil {
		return nil
	}
	return g.changeColumns(o, old, mode, columns)
}

// fitting returns the privileges that a relation can have.
func (g *granting) fitting(o *grantable, mode acl.Mode) (acl.Mode, error) {
	if g.n.Objtype != pg_query.ObjectType_OBJECT_TABLE || mode&^o.kind.All() == 0 {
		return mode, nil
	}
	if o.kind == acl.Relation {
		return 0, pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type USAGE for table")
	}
	warn(g.change, pgerr.InvalidGrantOperation,
		`sequence "%s" only supports USAGE, SELECT, and UPDATE privileges`, o.name)
	return mode & o.kind.All(), nil
}

// changeColumns changes the access lists of columns. REVOKE on the whole relation takes the privileges
// on columns away too.
func (g *granting) changeColumns(o *grantable, old acl.List, mode acl.Mode, list []columnPrivilege) error {
	t := o.table
	modes := make([]acl.Mode, len(t.Columns))
	if !g.n.IsGrant {
		for i := range t.Columns {
			modes[i] = mode & acl.Column.All()
		}
		if _, options := old.BestGrantor(g.me.Acting(), o.owner, mode); options == 0 && !g.me.Superuser() &&
			mode&acl.Column.All() != 0 {
			// PostgreSQL takes the system columns first.
			if system := (&catalog.Column{Name: "tableoid"}); !hasAny(g.me, o, old, system) {
				return grantDenied(o, system)
			}
		}
	}
	for _, p := range list {
		if p.mode&^acl.Column.All() != 0 {
			return pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type %s for column", p.mode.Words()[0])
		}
		if t.Sequence != nil && p.mode&^acl.Select != 0 {
			warn(g.change, pgerr.InvalidGrantOperation, `sequence "%s" only supports SELECT column privileges`, t.Name)
			p.mode &= acl.Select
		}
		for _, name := range p.names {
			at := slices.IndexFunc(t.Columns, func(c catalog.Column) bool { return c.Name == name && !c.Dropped })
			if at < 0 {
				if systemColumns[name] {
					return pgerr.Unsupported(`privileges on system column "%s" are not supported`, name)
				}
				return undefinedColumn(t, name)
			}
			modes[at] |= p.mode
		}
	}
	for i, m := range modes {
		if c := &t.Columns[i]; m != 0 && !c.Dropped {
			if len(list) == 0 && c.ACL == nil {
				continue
			}
			both := append(slices.Clone(old), c.ACL...)
			now, err := g.apply(o, c.ACL.Or(acl.Column, o.owner), both, m, m == acl.Column.All(), c)
			if err != nil {
				return err
			}
			if c.ACL = now; len(now) == 0 {
				c.ACL = nil
			}
		}
	}
	return nil
}

// apply returns an access list after the statement. by is the list from which the grantor has its grant
// options.
func (g *granting) apply(
	o *grantable, list, by acl.List, mode acl.Mode, all bool, column *catalog.Column,
) (acl.List, error) {
	grantor, options := o.owner, mode.Options()
	if !g.me.Superuser() {
		grantor, options = by.BestGrantor(g.me.Acting(), o.owner, mode)
	}
	if options == 0 {
		may := privilege.Of(g.view, g.Database, grantor)
		if !hasAny(may, o, by, column) {
			return nil, grantDenied(o, column)
		}
	}
	given := mode & options.Granted()
	g.warnUngranted(o, given, mode, all, column)
	now, err := list.Apply(acl.Grant{
		Revoke: !g.n.IsGrant, Option: g.n.GrantOption, Grantees: g.grantees, Privileges: given, Grantor: grantor,
		Cascade: g.n.Behavior == pg_query.DropBehavior_DROP_CASCADE,
		Has: func(role, other uint32) bool {
			return privilege.Of(g.view, g.Database, role).Acts(other)
		},
	}, o.owner)
	return now, grantError(err)
}

func grantError(err error) error {
	switch {
	case errors.Is(err, acl.ErrDependent):
		return pgerr.New(pgerr.DependentObjectsStillExist, "%s", err).WithHint("Use CASCADE to revoke them too.")
	case err != nil:
		return pgerr.New(pgerr.InvalidGrantOperation, "%s", err)
	}
	return nil
}

// hasAny reports whether a role has any privilege on an object.
func hasAny(may *privilege.Subject, o *grantable, by acl.List, column *catalog.Column) bool {
	kind := o.kind
	if column != nil {
		kind = acl.Column
	}
	whole := kind.All() | kind.All().Options()
	switch {
	case o.table == nil:
		return by.Of(may.Acts, o.owner, whole, true) != 0
	case column != nil:
		return may.HasColumn(o.table, column, whole)
	}
	return may.Relation(o.table, whole, true) != 0
}

func grantDenied(o *grantable, column *catalog.Column) error {
	if column != nil {
		return pgerr.New(pgerr.InsufficientPrivilege, `permission denied for column "%s" of relation "%s"`, column.Name,
			o.name)
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for %s %s", o.word, o.name)
}

// warnUngranted warns if not all privileges can be granted or revoked.
func (g *granting) warnUngranted(o *grantable, given, mode acl.Mode, all bool, column *catalog.Column) {
	code, done, name := pgerr.PrivilegeNotGranted, "were granted", `"`+o.name+`"`
	if !g.n.IsGrant {
		code, done = pgerr.PrivilegeNotRevoked, "could be revoked"
	}
	if column != nil {
		name = `column "` + column.Name + `" of relation "` + o.name + `"`
	}
	switch {
	case given == 0:
		warn(g.change, code, "no privileges %s for %s", done, name)
	case given != mode && !all:
		warn(g.change, code, "not all privileges %s for %s", done, name)
	}
}

// warn adds a warning.
func warn(c *change, code, format string, args ...any) {
	n := pgerr.New(code, format, args...)
	n.Severity = "WARNING"
	c.notices = append(c.notices, n)
}
