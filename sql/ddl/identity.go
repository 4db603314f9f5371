package ddl

import (
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// serials maps the names of serial types to the column's type.
var serials = map[string]types.OID{
	"smallserial": types.Int2, "serial2": types.Int2, "serial": types.Int4, "serial4": types.Int4,
	"bigserial": types.Int8, "serial8": types.Int8,
}

// serialType returns the integer type of a serial column; 0 for other types.
func (d *draft) serialType(n *pg_query.TypeName) (types.OID, error) {
	names := texts(n.GetNames())
	if len(names) != 1 || n.GetPctType() {
		return 0, nil
	}
	oid := serials[names[0]]
	if oid != 0 && len(n.ArrayBounds) > 0 {
		return 0, pgerr.Unsupported("array of serial is not implemented").At(d.pos(n.Location))
	}
	return oid, nil
}

// serial adds the sequence and the default of a new serial column.
func (d *draft) serial(col *catalog.Column, added bool) error {
	s, err := d.columnSequence(col, nil, false)
	if err != nil {
		return err
	}
	col.NotNull = true
	return d.defaultNext(col, s, added)
}

// nextOf returns the text of the expression for a sequence's next value. Stored expressions refer
// to objects by OID.
func nextOf(sequence catalog.OID) string {
	return "nextval('" + strconv.FormatUint(uint64(sequence), 10) + "'::regclass)"
}

// defaultNext sets nextval of a sequence as the default of a serial column.
func (d *draft) defaultNext(col *catalog.Column, s *catalog.Table, added bool) error {
	e, err := d.nextValue(col, s.OID)
	if err != nil {
		return err
	}
	col.Default = deparse.Expr(e)
	d.computeColumn(col, e, added)
	return nil
}

// computeColumn records that existing rows get a value for a new column from e.
func (d *draft) computeColumn(col *catalog.Column, e query.Expr, added bool) {
	if added {
		d.becomes[col.AttNum], d.restored = e, true
	}
}

// nextValue returns the expression for a sequence's next value, cast to the column's type.
func (d *draft) nextValue(col *catalog.Column, sequence catalog.OID) (query.Expr, error) {
	src, err := analyze.ParseExpression(nextOf(sequence))
	if err != nil {
		return nil, err
	}
	return analyze.Default(d.analysis(), src, query.Column{Name: col.Name, Type: col.Type, Typmod: col.Typmod})
}

// columnSequence creates the sequence that a column owns.
func (d *draft) columnSequence(col *catalog.Column, options []*pg_query.Node, identity bool) (*catalog.Table, error) {
	name, rest, err := d.sequenceName(col, options)
	if err != nil {
		return nil, err
	}
	if identity && !isInteger(col.Type) {
		return nil, wrongIdentityType()
	}
	as := &pg_query.DefElem{Defname: "as", Location: -1,
		Arg: &pg_query.Node{Node: &pg_query.Node_TypeName{TypeName: typeNameOf(col.Type)}}}
	x, err := d.sequenceOptions(append([]*pg_query.Node{{Node: &pg_query.Node_DefElem{DefElem: as}}}, rest...), nil,
		identity)
	if err != nil {
		return nil, err
	}
	x.to.Table, x.to.Column, x.to.Internal = d.t.OID, col.AttNum, identity
	s, err := d.newSequence(d.t.Schema, name, d.t.Owner, x.to)
	if err != nil {
		return nil, err
	}
	d.made = append(d.made, s)
	return s, d.ch.PutTable(s)
}

func isInteger(oid types.OID) bool {
	return oid == types.Int2 || oid == types.Int4 || oid == types.Int8
}

func wrongIdentityType() error {
	return pgerr.New(pgerr.InvalidParameterValue, "identity column type must be smallint, integer, or bigint")
}

// sequenceName removes SEQUENCE NAME from the options and returns it, or chooses a name.
func (d *draft) sequenceName(col *catalog.Column,
	options []*pg_query.Node) (name string, rest []*pg_query.Node, err error) {
	for _, o := range options {
		e := o.GetDefElem()
		if e.GetDefname() != "sequence_name" {
			rest = append(rest, o)
			continue
		}
		if name != "" {
			return "", nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(d.pos(e.Location))
		}
		rv := rangeVarOf(e.Arg.GetList().GetItems())
		if rv.Schemaname != "" {
			if s := d.view.SchemaByName(d.Database, rv.Schemaname); s == nil || s.OID != d.t.Schema {
				return "", nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
					"sequence must be in same schema as table it is linked to")
			}
		}
		name = rv.Relname
	}
	if name == "" {
		name = d.chooseName(d.t.Schema, d.t, col.Name, "seq", true)
	} else if d.relationTaken(d.t.Schema, d.t, name) {
		return "", nil, relationExists(name)
	}
	d.taken[name] = true
	return name, rest, nil
}

// typeNameOf returns the parse tree of an integer type's name.
func typeNameOf(oid types.OID) *pg_query.TypeName {
	name := map[types.OID]string{types.Int2: "int2", types.Int4: "int4", types.Int8: "int8"}[oid]
	return &pg_query.TypeName{Names: []*pg_query.Node{pg_query.MakeStrNode("pg_catalog"), pg_query.MakeStrNode(name)},
		Typemod: -1, Location: -1}
}

// identity turns a column into an identity column.
func (d *draft) identity(col *catalog.Column, k *pg_query.Constraint, added bool) error {
	s, err := d.columnSequence(col, k.Options, true)
	if err != nil {
		return err
	}
	col.Identity, col.Sequence, col.NotNull = k.GeneratedWhen[0], s.OID, true
	if !added {
		return nil
	}
	e, err := d.nextValue(col, s.OID)
	if err != nil {
		return err
	}
	d.computeColumn(col, e, true)
	return nil
}

// addIdentity is ALTER COLUMN … ADD GENERATED … AS IDENTITY.
func (d *draft) addIdentity(k *pg_query.AlterTableCmd) error {
	col, err := d.liveColumn(k.Name)
	if err != nil {
		return err
	}
	is := func(format string) error {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, format, k.Name, d.t.Name)
	}
	switch {
	case !isInteger(col.Type):
		return wrongIdentityType()
	case !col.NotNull:
		return is(`column "%s" of relation "%s" must be declared NOT NULL before identity can be added`)
	case col.Identity != 0:
		return is(`column "%s" of relation "%s" is already an identity column`)
	case col.Default != "" || col.Generated != "":
		return is(`column "%s" of relation "%s" already has a default value`)
	}
	return d.identity(col, k.Def.GetConstraint(), false)
}

func (d *draft) notIdentity(name string) *pgerr.Error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `column "%s" of relation "%s" is not an identity column`, name,
		d.t.Name)
}

// setIdentity is ALTER COLUMN … SET GENERATED, SET options of its sequence, RESTART.
func (d *draft) setIdentity(k *pg_query.AlterTableCmd) error {
	col, err := d.liveColumn(k.Name)
	if err != nil {
		return err
	}
	if col.Identity == 0 {
		return d.notIdentity(k.Name)
	}
	var rest []*pg_query.Node
	said := false
	for _, o := range k.Def.GetList().GetItems() {
		e := o.GetDefElem()
		if e.GetDefname() != "generated" {
			rest = append(rest, o)
			continue
		}
		if said {
			return pgerr.New(pgerr.SyntaxError, "conflicting or redundant options")
		}
		said = true
		col.Identity = byte(e.Arg.GetInteger().GetIval())
	}
	if len(rest) == 0 {
		return nil
	}
	s, err := d.ownedSequence(col.Sequence)
	if err != nil {
		return err
	}
	return d.changeOwned(s, rest)
}

// changeOwned changes the sequence of an identity column, which this statement may have created.
func (d *draft) changeOwned(s *catalog.Table, options []*pg_query.Node) error {
	next, err := d.changedSequence(s, options, true)
	if err != nil {
		return err
	}
	for i := range d.made {
		if d.made[i].OID == s.OID {
			d.made[i] = next
		}
	}
	return d.ch.PutTable(next)
}

// ownedSequence returns a sequence that belongs to the table: one that the statement has created,
// or one that is locked with the table.
func (d *draft) ownedSequence(oid catalog.OID) (*catalog.Table, error) {
	for _, s := range d.made {
		if s.OID == oid {
			return s, nil
		}
	}
	s := d.view.Table(oid)
	if s == nil {
		return nil, errMoved
	}
	return s, d.requireLocked(s)
}

// dropIdentity is ALTER COLUMN … DROP IDENTITY.
func (d *draft) dropIdentity(k *pg_query.AlterTableCmd) error {
	col, err := d.liveColumn(k.Name)
	if err != nil {
		return err
	}
	if col.Identity == 0 {
		if k.MissingOk {
			d.noticeSkipped(d.notIdentity(k.Name))
			return nil
		}
		return d.notIdentity(k.Name)
	}
	s, err := d.ownedSequence(col.Sequence)
	if err != nil {
		return err
	}
	col.Identity, col.Sequence = 0, 0
	return d.dropTable(s)
}

// identityError returns the error for a command that an identity column does not allow.
func (d *draft) identityError(col *catalog.Column) *pgerr.Error {
	return pgerr.New(pgerr.SyntaxError, `column "%s" of relation "%s" is an identity column`, col.Name, d.t.Name)
}

// retypeIdentity changes the type of an identity column's sequence to the column's new type.
func (d *draft) retypeIdentity(col *catalog.Column, to types.OID) error {
	if col.Identity == 0 || col.Type == to {
		return nil
	}
	s, err := d.ownedSequence(col.Sequence)
	if err != nil {
		return err
	}
	if !isInteger(to) {
		return wrongIdentityType()
	}
	as := &pg_query.DefElem{Defname: "as", Location: -1,
		Arg: &pg_query.Node{Node: &pg_query.Node_TypeName{TypeName: typeNameOf(to)}}}
	return d.changeOwned(s, []*pg_query.Node{{Node: &pg_query.Node_DefElem{DefElem: as}}})
}
