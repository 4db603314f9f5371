package catalog

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog/acl"
	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/pgerr"
)

// Type is a type that a user has defined.
type Type struct {
	OID      OID // its number in the catalog; TypeOID is the one of pg_type
	Database OID
	Schema   OID
	Name     string
	Owner    OID // role
	Comment  string
	Kind     TypeKind
	Labels   []EnumLabel // of an enum, by rank
	Domain   *Domain     // nil of other types
	// Attributes of a composite type by number, dropped ones included.
	Attributes []Attribute
	ACL        acl.List
}

// Attribute is an attribute of a composite type.
type Attribute struct {
	Number    int16 // from 1
	Name      string
	Type      OID
	Typmod    int32
	Collation OID
	Dropped   bool
	Comment   string
}

// Domain is what a domain adds to its base type.
type Domain struct {
	Base      OID // a built-in type or a domain
	Typmod    int32
	Collation OID
	NotNull   bool
	Default   string       // SQL text; "" if there is none
	Checks    []Constraint // without columns; VALUE stands for the value
}

// TypeKind is pg_type.typtype.
type TypeKind byte

// Kinds of types.
const (
	EnumType   TypeKind = 'e'
	DomainType TypeKind = 'd'
	// CompositeType is a type of CREATE TYPE … AS (…). Row types of tables are not in the catalog: they
	// follow from the tables.
	CompositeType TypeKind = 'c'
)

// EnumLabel is a value of an enum.
type EnumLabel struct {
	OID  OID
	Text string
	// Rank is what rows hold. Values are ordered by its bytes, and it never changes.
	Rank  string
	Order float32 // pg_enum.enumsortorder
}

// The OIDs of enums and composite types in pg_type are computed from their numbers, so that the kind of
// a type follows from its OID: rows can be read without the catalog. Those of their array types differ
// in one bit, or two. The row type of a table has the table's number. Package sql/types has the same
// constants.
const (
	enumTypes   OID = 3 << 28
	arrayOfEnum OID = 1 << 27
	rowTypes    OID = 1 << 28
	rowArrays   OID = 2 << 28
)

// domains is the bit of the OIDs of domains, which have their base types too; package sql/types makes
// them. They are the numbers of domains in the catalog.
const domains OID = 1 << 31

// TypeOID returns the type's OID in pg_type.
func (t *Type) TypeOID() OID {
	switch t.Kind {
	case DomainType:
		return t.OID
	case CompositeType:
		return rowTypes | t.OID
	}
	return enumTypes | t.OID
}

// TypeNumber returns the number of the type that has an OID in pg_type, or whose array type has it; of
// a row type, that of its table. 0: it is no type of a user.
func TypeNumber(oid OID) OID {
	switch {
	case oid >= domains:
		return oid
	case oid>>28 == rowTypes>>28, oid>>28 == rowArrays>>28:
		return oid &^ (rowTypes | rowArrays)
	case oid>>28 == enumTypes>>28:
		return oid &^ (enumTypes | arrayOfEnum)
	}
	return 0
}

// Label returns the value of an enum with a text, nil if there is none.
func (t *Type) Label(text string) *EnumLabel {
	for i := range t.Labels {
		if t.Labels[i].Text == text {
			return &t.Labels[i]
		}
	}
	return nil
}

// Ranked returns the value of an enum with a rank, nil if there is none.
func (t *Type) Ranked(rank string) *EnumLabel {
	i, ok := slices.BinarySearchFunc(t.Labels, rank,
		func(l EnumLabel, r string) int { return strings.Compare(l.Rank, r) })
	if !ok {
		return nil
	}
	return &t.Labels[i]
}

// Clone returns a copy of a type that may be changed (K1).
func (t *Type) Clone() *Type {
	c := *t
	c.Labels, c.Attributes = slices.Clone(t.Labels), slices.Clone(t.Attributes)
	if t.Domain != nil {
		d := *t.Domain
		d.Checks = slices.Clone(d.Checks)
		c.Domain = &d
	}
	return &c
}

// Put creates a type or replaces its definition.
func (t *Type) Put(c *Change) error {
	if c.base.version > 0 && c.base.Schema(t.Schema) != nil {
		// conflict if the schema is renamed or dropped meanwhile
		c.add(requireOp, newKey(schemaObject, uint64(t.Schema)), nil)
	}
	return c.put(t.Clone())
}

// Drop drops a type, which nothing may use when the change is applied (2BP01).
func (t *Type) Drop(c *Change) { c.drop(typeObject, uint64(t.OID)) }

// TypeByOID returns the type with a number, nil if there is none.
func TypeByOID(v *View, oid OID) *Type { return get[*Type](v, newKey(typeObject, uint64(oid))) }

// TypeNamed returns the type with a name in a schema, nil if there is none. Row types of tables are
// not found.
func TypeNamed(v *View, schema OID, name string) *Type {
	return byName[*Type](v, typeNames, schema, name)
}

// TypesIn returns the types of a schema by name.
func TypesIn(v *View, schema OID) iter.Seq[*Type] {
	return func(yield func(*Type) bool) {
		for _, t := range named[*Type](v, typeNames, schema) {
			if t != nil && !yield(t) {
				return
			}
		}
	}
}

// TypesOf returns the types of a database by OID.
func TypesOf(v *View, database OID) iter.Seq[*Type] {
	return func(yield func(*Type) bool) {
		for t := range all[*Type](v, typeObject) {
			if t.Database == database && !yield(t) {
				return
			}
		}
	}
}

// Uncommitted reports whether v is the preview of a transaction that has added a value to an enum
// which exists already. Such a value may not be used before the transaction has committed, because
// the value would stay in rows and indexes if it was rolled back.
func (l *EnumLabel) Uncommitted(v *View, t *Type) bool {
	if v.onto == nil {
		return false
	}
	was := TypeByOID(v.onto, t.OID)
	return was != nil && !slices.ContainsFunc(was.Labels, func(o EnumLabel) bool { return o.OID == l.OID })
}

// UncommittedTypes returns the types of a database that the transaction whose preview v is has
// created or changed.
func UncommittedTypes(v *View, database OID) []*Type {
	if v.onto == nil {
		return nil
	}
	var out []*Type
	for t := range TypesOf(v, database) {
		was := TypeByOID(v.onto, t.OID)
		if was == nil || !slices.Equal(was.Labels, t.Labels) || !slices.Equal(was.Attributes, t.Attributes) ||
			was.Name != t.Name || was.Schema != t.Schema {
			out = append(out, t)
		}
	}
	return out
}

// UncommittedTables returns the tables and views of a database that the transaction whose preview v is
// has created or changed: their row types are new.
func UncommittedTables(v *View, database OID) []*Table {
	if v.onto == nil {
		return nil
	}
	var out []*Table
	for t := range v.Tables(database) {
		if t.hasRowType() && v.onto.Table(t.OID) != t {
			out = append(out, t)
		}
	}
	return out
}

// hasRowType reports whether a type has the name of the table: its row type.
func (t *Table) hasRowType() bool { return t.Kind == KindTable || t.IsView() || t.IsMaterialized() }

// usedTypes returns the numbers of the types of users that the columns and expressions of a table, or
// the query of a view, use.
func (t *Table) usedTypes() []OID {
	var out []OID
	add := distinct(&out)
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Stored() {
			add(TypeNumber(c.Type))
		}
	}
	t.eachText(func(text string) { typesInText(text, add) })
	return out
}

// Types of users in the text of stored expressions are named by their OIDs, so that they can be
// renamed: sherd.type_805322752, and in constants sherd.value_805322752, whose text is the rank of
// the value. Attributes are named by the OID of the type and their number: (x)."#268451840.2".
const (
	storedTypeName      = "sherd.type_"
	storedValueName     = "sherd.value_"
	storedAttributeName = `."#`
)

// typesInText calls f with the number of each type that a stored expression names.
func typesInText(text string, f func(OID)) {
	for _, prefix := range []string{storedTypeName, storedValueName, storedAttributeName} {
		numbersInText(text, prefix, func(n OID) { f(TypeNumber(n)) })
	}
}

// TypeInText reports whether a stored expression names a type.
func (t *Type) TypeInText(text string) bool {
	found := false
	typesInText(text, func(n OID) { found = found || n == t.OID })
	return found
}

// AttributeInText reports whether a stored expression names an attribute of a composite type.
func (t *Type) AttributeInText(text string, number int16) bool {
	return strings.Contains(text, fmt.Sprintf(`%s%d.%d"`, storedAttributeName, t.TypeOID(), number))
}

// WrittenInText reports whether a stored expression has a value of the type, or a cast to it.
func (t *Type) WrittenInText(text string) bool {
	found := false
	for _, prefix := range []string{storedTypeName, storedValueName} {
		numbersInText(text, prefix, func(n OID) { found = found || TypeNumber(n) == t.OID })
	}
	return found
}

// usedTypes returns the numbers of the types that the definition of a domain or of a composite type
// uses.
func (t *Type) usedTypes() []OID {
	var out []OID
	add := distinct(&out)
	for _, a := range t.Attributes {
		if !a.Dropped {
			add(TypeNumber(a.Type))
		}
	}
	if t.Domain == nil {
		return out
	}
	add(TypeNumber(t.Domain.Base))
	typesInText(t.Domain.Default, add)
	for i := range t.Domain.Checks {
		typesInText(t.Domain.Checks[i].Check, add)
	}
	return out
}

// TypesOver returns the domains and the composite types that use a type.
func (t *Type) TypesOver(v *View) []*Type {
	var out []*Type
	for x := range TypesOf(v, t.Database) {
		if slices.Contains(x.usedTypes(), t.OID) {
			out = append(out, x)
		}
	}
	return out
}

// UsersOf returns the tables whose columns or expressions use a type.
func (t *Type) UsersOf(v *View) []*Table {
	var out []*Table
	for x := range v.Tables(t.Database) {
		if slices.Contains(x.usedTypes(), t.OID) {
			out = append(out, x)
		}
	}
	return out
}

// checkTypesExist checks that types that an object of a database uses exist.
func checkTypesExist(v *View, database OID, numbers []OID) error {
	for _, n := range numbers {
		if t := v.Table(n); t != nil && t.Database == database {
			continue // its row type
		}
		if x := TypeByOID(v, n); x == nil || x.Database != database {
			return pgerr.New(pgerr.UndefinedObject, "type with OID %d does not exist", n)
		}
	}
	return nil
}

// checkTypeUnused returns an error if a table uses a dropped type.
func checkTypeUnused(v *View, t *Type) error {
	for _, x := range t.TypesOver(v) {
		return pgerr.New(pgerr.DependentObjectsStillExist,
			"cannot drop type %s because other objects depend on it", t.Name).
			WithDetail("type %s depends on type %s", x.Name, t.Name).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	for _, x := range t.UsersOf(v) {
		return pgerr.New(pgerr.DependentObjectsStillExist,
			"cannot drop type %s because other objects depend on it", t.Name).
			WithDetail("table %s depends on type %s", x.Name, t.Name).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	return nil
}

func (t *Type) check() error {
	if err := errors.Join(checkName(t.Name), checkOID(t.OID)); err != nil {
		return err
	}
	switch {
	case t.Kind == DomainType && t.Domain != nil && t.OID >= domains && len(t.Labels) == 0:
		return nil
	case t.Kind == CompositeType && t.Domain == nil && len(t.Labels) == 0 && t.OID < rowTypes:
		return t.checkAttributes()
	case t.Kind != EnumType || t.Domain != nil || len(t.Attributes) > 0:
		return fmt.Errorf("type of kind %q", rune(t.Kind))
	}
	if t.OID >= arrayOfEnum {
		return pgerr.New(pgerr.ConfigurationLimitExceeded, "the cluster has used up the numbers of types")
	}
	texts := map[string]bool{}
	for i := range t.Labels {
		l := &t.Labels[i]
		switch {
		case l.OID == 0 || l.Rank == "" || i > 0 && t.Labels[i-1].Rank >= l.Rank:
			return fmt.Errorf("value %q of an enum has no OID, or is out of order", l.Text)
		case texts[l.Text]:
			return pgerr.New(pgerr.DuplicateObject, `enum label "%s" already exists`, l.Text)
		}
		texts[l.Text] = true
	}
	return nil
}

func (t *Type) checkAttributes() error {
	names := map[string]bool{}
	for i, a := range t.Attributes {
		switch {
		case int(a.Number) != i+1:
			return fmt.Errorf("attribute %q has number %d", a.Name, a.Number)
		case a.Dropped:
			continue
		case names[a.Name]:
			return pgerr.New(pgerr.DuplicateColumn, `column "%s" of relation "%s" already exists`, a.Name, t.Name)
		case a.Type == 0:
			return fmt.Errorf("attribute %q has no type", a.Name)
		}
		names[a.Name] = true
	}
	return nil
}

// Live returns the attributes that are not dropped.
func (t *Type) Live() []Attribute {
	return slices.DeleteFunc(slices.Clone(t.Attributes), func(a Attribute) bool { return a.Dropped })
}

func encodeType(t *Type) *pb.Type {
	p := &pb.Type{
		Oid: t.OID, Database: t.Database, Schema: t.Schema, Name: t.Name, Owner: t.Owner, Comment: t.Comment,
		Kind: uint32(t.Kind), Acl: encodeACL(t.ACL),
	}
	for i := range t.Labels {
		l := &t.Labels[i]
		p.Labels = append(p.Labels, &pb.EnumLabel{Oid: l.OID, Text: l.Text, Rank: []byte(l.Rank), Order: l.Order})
	}
	for _, a := range t.Attributes {
		p.Attributes = append(p.Attributes, &pb.Attribute{
			Number: uint32(a.Number), Name: a.Name, Type: a.Type, Typmod: a.Typmod, Collation: a.Collation,
			Dropped: a.Dropped, Comment: a.Comment,
		})
	}
	if d := t.Domain; d != nil {
		p.Domain = &pb.Domain{Base: d.Base, Typmod: d.Typmod, Collation: d.Collation, NotNull: d.NotNull,
			Default: d.Default}
		for i := range d.Checks {
			p.Domain.Checks = append(p.Domain.Checks, encodeConstraint(&d.Checks[i]))
		}
	}
	return p
}

func decodeType(p *pb.Type) *Type {
	t := &Type{
		OID: p.GetOid(), Database: p.GetDatabase(), Schema: p.GetSchema(), Name: p.GetName(), Owner: p.GetOwner(),
		Comment: p.GetComment(), Kind: TypeKind(p.GetKind()), ACL: decodeACL(p.GetAcl()),
	}
	for _, l := range p.GetLabels() {
		t.Labels = append(t.Labels, EnumLabel{l.GetOid(), l.GetText(), string(l.GetRank()), l.GetOrder()})
	}
	for _, a := range p.GetAttributes() {
		t.Attributes = append(t.Attributes, Attribute{
			Number: int16(a.GetNumber()), Name: a.GetName(), Type: a.GetType(), Typmod: a.GetTypmod(),
			Collation: a.GetCollation(), Dropped: a.GetDropped(), Comment: a.GetComment(),
		})
	}
	if d := p.GetDomain(); d != nil {
		t.Domain = &Domain{Base: d.GetBase(), Typmod: d.GetTypmod(), Collation: d.GetCollation(),
			NotNull: d.GetNotNull(), Default: d.GetDefault()}
		for _, k := range d.GetChecks() {
			t.Domain.Checks = append(t.Domain.Checks, new(attNumDecoder).constraint(k))
		}
	}
	return t
}
