package query

import "github.com/sherddb/sherd/sql/types"

// Expr is an analysed expression. Type and Typmod describe its value; typmod is -1 if there is
// none.
type Expr interface {
	Type() types.OID
	Typmod() int32
}

// T is the type of an expression, embedded by all of them.
type T struct {
	OID types.OID
	Mod int32
}

// Type returns the OID.
func (t T) Type() types.OID { return t.OID }

// Typmod returns the type modifier, -1 is none.
func (t T) Typmod() int32 { return t.Mod }

// Of makes a T without type modifier.
func Of(oid types.OID) T { return T{oid, -1} }

// TypesOf returns the type of each expression.
func TypesOf(es []Expr) []types.OID {
	out := make([]types.OID, len(es))
	for i, e := range es {
		out[i] = e.Type()
	}
	return out
}

// Const is a literal.
type Const struct {
	T
	Value   types.Datum
	Pos     int      // of the literal in the text, characters from 1; 0 unknown
	Columns []Column // of a null row of a table's type
}

// Param is $N of an extended query, from 1.
type Param struct {
	T
	N int
}

// Var is a column: Rels[Rel].Columns[Col] of the query Up levels out. Negative Col are system
// columns.
type Var struct {
	T
	Rel, Col, Up int
	Name         string
}

// System columns.
const (
	ColTableOID = -1
	ColCtid     = -2  // made up from the row's key
	ColXmin     = -3  // always FrozenXid
	ColWholeRow = -10 // the row as a record
	ColKey      = -20 // its storage key (bytea)
)

// FrozenXid is the value of xmin: the row is visible to every session that sees it at all.
const FrozenXid = 2

// Call is a function, an operator (Op is its name, for display) or a cast by function (Cast).
type Call struct {
	T
	Proc     *Proc
	Args     []Expr
	Op       string
	Cast     byte // 0, 'e' explicit, 'i' implicit, 'a' assignment: for display
	Variadic bool // last argument was given as VARIADIC array; otherwise variadic arguments are packed in an Array
	Pos      int
	Columns  []Column // of the record that it makes, where its arguments tell
}

// Relabel changes the type without changing the value (binary-coercible cast).
type Relabel struct {
	T
	Arg  Expr
	Cast byte
}

// CoerceIO casts through the text form.
type CoerceIO struct {
	T
	Arg      Expr
	Explicit bool
}

// ArrayCoerce casts each element; Elem is the cast of an *Element.
type ArrayCoerce struct {
	T
	Arg  Expr
	Elem Expr
}

// RowCoerce converts a row to a composite type. Row makes the value: ROW(…) of fields of an *Element,
// which stands for the row.
type RowCoerce struct {
	T
	Arg      Expr
	Row      Expr
	Explicit bool // written as a cast
}

// CoerceToDomain checks that a value of a domain's base type is one of the domain.
type CoerceToDomain struct {
	T
	Arg            Expr
	Schema, Domain string // names of the domain
	Shown          string // its name in messages
	NotNull        bool
	Checks         []DomainCheck
	Explicit       bool // written as a cast
}

// DomainCheck is a constraint of a domain; the value is an *Element.
type DomainCheck struct {
	Name string
	Expr Expr
}

// Element stands for the element in ArrayCoerce.Elem, the row in RowCoerce.Row, the operand in Case.Arg
// tests, the left row's field in Quantified, and the value in DomainCheck.Expr.
type Element struct{ T }

// And, Or and Not are three-valued logic over bool.
type (
	And struct{ Args []Expr }
	Or  struct{ Args []Expr }
	Not struct{ Arg Expr }
)

// Type of logic is bool.
func (*And) Type() types.OID { return types.Bool }
func (*Or) Type() types.OID  { return types.Bool }
func (*Not) Type() types.OID { return types.Bool }

// Typmod of logic is none.
func (*And) Typmod() int32 { return -1 }
func (*Or) Typmod() int32  { return -1 }
func (*Not) Typmod() int32 { return -1 }

// NullTest is IS [NOT] NULL; of a row value it tests every field (Row).
type NullTest struct {
	T
	Arg Expr
	Not bool
	Row bool
}

// BoolTest is IS [NOT] TRUE, FALSE, UNKNOWN. Value is 't', 'f' or 'u'.
type BoolTest struct {
	T
	Arg   Expr
	Value byte
	Not   bool
}

// Distinct is IS [NOT] DISTINCT FROM; Equal is the equality operator's function.
type Distinct struct {
	T
	Equal       *Proc
	Left, Right Expr
	Not         bool // IS NOT DISTINCT FROM
}

// NullIf is NULLIF.
type NullIf struct {
	T
	Equal       *Proc
	Left, Right Expr
}

// ArrayOp is left op ANY|ALL (array), and IN lists.
type ArrayOp struct {
	T
	Proc  *Proc
	Op    string
	All   bool
	Left  Expr
	Array Expr
	Pos   int
}

// Case is CASE; where Arg is set, each When tests an *Element that stands for it.
type Case struct {
	T
	Arg   Expr
	Whens []When
	Else  Expr // nil is null
}

// When is a branch of Case.
type When struct{ Cond, Result Expr }

// Coalesce is COALESCE.
type Coalesce struct {
	T
	Args []Expr
}

// MinMax is GREATEST or LEAST; Cmp is the type's btree comparison (types.Compare is used).
type MinMax struct {
	T
	Least bool
	Args  []Expr
}

// Array is ARRAY[…]; where Multi is set, the elements are arrays of the same type.
type Array struct {
	T
	Elem  types.OID
	Elems []Expr
	Multi bool
}

// Row is ROW(…).
type Row struct {
	T
	Fields   []Expr
	Names    []string
	Implicit bool // of a composite type that is not written
}

// RowCompare compares rows with <, <=, >, >= (= and <> are expanded to And and Or). Procs are the
// operator's functions per column.
type RowCompare struct {
	T
	Op          string
	Lt, Eq      []*Proc // the column type's < (or >, by Op) and =
	Left, Right []Expr
}

// Subscript is base[i], base[l:u] and jsonb subscripts. In an assignment Assign is the new value
// and the result is the whole container.
type Subscript struct {
	T
	Base   Expr
	Upper  []Expr // for jsonb text or int4
	Lower  []Expr // slices: same length as Upper, nil elements are open; nil for plain subscripts
	Slice  bool
	Elem   types.OID // of an array; types.JSONB for jsonb
	Assign Expr
}

// Field is (record).name; N counts from 0. Attribute is the number of the attribute of a composite type,
// by which stored expressions name it.
type Field struct {
	T
	Arg       Expr
	N         int
	Name      string
	Attribute int
}

// SubLinkKind is the form of a subquery expression.
type SubLinkKind uint8

// Kinds of SubLink.
const (
	SubExists SubLinkKind = iota
	SubScalar
	SubArray // ARRAY(SELECT …)
	SubAny   // test op ANY (SELECT …), IN
	SubAll
	SubRow // (a, b) = (SELECT …)
)

// SubLink is a subquery in an expression. For SubAny, SubAll and SubRow, Test compares Left (a copy
// of the left-hand expressions) with *SubColumn, which stands for the subquery's column.
type SubLink struct {
	T
	Kind    SubLinkKind
	Query   *Query
	Test    Expr
	Op      string // "=" with SubAny lets the planner use a hash semi-join
	Left    []Expr
	Negated bool // NOT IN: set on the SubAny under a Not for display only
}

// SubColumn stands for column N of the subquery in SubLink.Test.
type SubColumn struct {
	T
	N int
}

// Agg is an aggregate call. Up is the query level it belongs to.
type Agg struct {
	T
	Proc     *Proc
	Args     []Expr
	Star     bool
	Distinct bool
	Order    []AggOrder
	Direct   []Expr // of ordered-set aggregates
	Filter   Expr
	Up       int
	Pos      int
}

// AggOrder is ORDER BY inside an aggregate.
type AggOrder struct {
	Arg        int // position in Args
	Desc       bool
	NullsFirst bool
}

// WindowCall is a window function or an aggregate used as one.
type WindowCall struct {
	T
	Proc   *Proc
	Args   []Expr
	Star   bool
	Filter Expr
	Window int // position in Query.Windows
}

// Grouping is GROUPING(…): positions in GroupBy.
type Grouping struct {
	T
	Args []int
}

// Default stands for DEFAULT in VALUES lists and SET; analyze has replaced it where the column is
// known.
type Default struct{ T }

// SQLValue is current_date, current_timestamp(n), current_user, … : Name in lower case.
type SQLValue struct {
	T
	Name string
}
