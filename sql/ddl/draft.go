package ddl

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/query"
)

// draft is a table that is being created or altered. Expressions and keys stay parse trees until
// all columns are known.
type draft struct {
	*change
	t               *catalog.Table
	was             *catalog.Table       // before the statement; nil for a new table
	filled          func() (bool, error) // whether the table has rows
	options         options
	pending         map[string]string   // a policy or key ranges that need a primary key
	declared        *catalog.Constraint // CHECK (sherd.placed()) of this statement
	declaredInvalid bool                // the policy was declared NOT VALID
	// rows are checked against the policy while they are rewritten
	judged bool

	defaults []columnExpr
	checks   []pendingCheck
	key      *pendingKey
	uniques  []pendingUnique
	foreign  []pendingForeign
	likes    []copied
	made     []*catalog.Table    // new sequences of its columns
	proofs   []catalog.OID       // foreign keys to verify against existing rows
	last     pg_query.ConstrType // the constraint that a following DEFERRABLE belongs to
	scans    []scan
	fills    []catalog.OID // new indexes to fill, if there are rows

	restored     bool    // existing rows must be rewritten
	keyChanged   bool    // the primary key was added or dropped
	typesChanged bool    // columns have other types
	revalued     []int16 // columns whose values change with their type
	// how a column is computed in the rewrite, if it is not copied
	becomes map[int16]query.Expr
}

// columnExpr is a default or, if generated is set, the expression of a generated column.
type columnExpr struct {
	att       int16
	node      *pg_query.Node
	generated bool
	added     bool // the column is new, and the table may have rows
}

type pendingCheck struct {
	name      string
	node      *pg_query.Node
	noInherit bool
	skip      bool // NOT VALID
}

type pendingKey struct {
	name    string
	columns []string
	using   string // the index of USING INDEX, or ""
	loc     int32

	deferrable, deferred, fixed bool
}

// scan is a condition that existing rows must satisfy.
type scan struct {
	where string // true for a row that violates the condition
	err   *pgerr.Error
}

// columns returns the table's columns for analysis; dropped columns keep their position.
func (d *draft) columns() []query.Column {
	out := make([]query.Column, len(d.t.Columns))
	for i, c := range d.t.Columns {
		out[i] = query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod, Dropped: c.Dropped}
	}
	return out
}

// analyzeExpressions analyzes the recorded expressions, defaults before constraints as PostgreSQL
// does.
func (d *draft) analyzeExpressions() error {
	for _, x := range d.defaults {
		if err := d.analyzeDefault(x); err != nil {
			return err
		}
	}
	d.defaults = nil
	for _, k := range d.checks {
		if err := d.addCheck(k); err != nil {
			return err
		}
	}
	d.checks = nil
	return nil
}

func (d *draft) analyzeDefault(x columnExpr) error {
	col := d.t.ColumnByNum(x.att)
	src := analyze.Source{Text: d.source, Node: x.node}
	qc := query.Column{Name: col.Name, Type: col.Type, Typmod: col.Typmod}
	if x.generated {
		return d.analyzeGenerated(x, col, qc, src)
	}
	e, err := analyze.Default(d.analysis(), src, qc)
	if err != nil {
		return err
	}
	col.Default = deparse.Expr(e)
	if isNull(e) {
		col.Default = ""
	}
	if !x.added {
		return nil
	}
	d.becomes[col.AttNum] = e
	if col.Default == "" {
		return nil
	}
	return d.fillWithDefault(col, e)
}

func (d *draft) analyzeGenerated(x columnExpr, col *catalog.Column, qc query.Column, src analyze.Source) error {
	e, err := analyze.Generated(d.analysis(), src, qc, d.t.Name, d.columns())
	if err != nil {
		return err
	}
	for _, v := range variables(e) {
		if other := &d.t.Columns[v.Col]; other.Generated != "" || d.willBeGenerated(other.AttNum) {
			return pgerr.New(pgerr.InvalidObjectDefinition,
				`cannot use generated column "%s" in column generation expression`, other.Name).
				WithDetail("A generated column cannot reference another generated column.").
				At(d.pos(columnLocation(x.node, other.Name)))
		}
	}
	col.Generated = deparse.Expr(e)
	d.restored = d.restored || x.added
	return nil
}

func (d *draft) willBeGenerated(att int16) bool {
	for _, x := range d.defaults {
		if x.att == att && x.generated {
			return true
		}
	}
	return false
}

func isNull(e query.Expr) bool {
	c, ok := e.(*query.Const)
	return ok && c.Value.IsNull()
}

// variables returns the distinct columns in an expression over one table, in order of appearance.
func variables(e query.Expr) []*query.Var {
	seen := map[[2]int]bool{}
	var out []*query.Var
	query.Walk(e, func(x query.Expr) bool {
		if v, ok := x.(*query.Var); ok && v.Up == 0 && !seen[[2]int{v.Rel, v.Col}] {
			seen[[2]int{v.Rel, v.Col}] = true
			out = append(out, v)
		}
		return true
	})
	return out
}

// addCheck adds a CHECK constraint. Without a name, it gets PostgreSQL's.
func (d *draft) addCheck(k pendingCheck) error {
	e, err := analyze.Check(d.analysis(), analyze.Source{Text: d.source, Node: k.node}, d.t.Name, d.columns())
	if err != nil {
		return err
	}
	var used []int16
	names := []string{}
	for _, v := range variables(e) {
		if v.Col >= 0 {
			used = append(used, d.t.Columns[v.Col].AttNum)
			names = append(names, d.t.Columns[v.Col].Name)
		} else if v.Col == query.ColWholeRow {
			names = append(names, "", "")
		}
	}
	name := k.name
	switch {
	case name == shardmap.ConstraintName && deparse.Expr(e) == placedText:
		d.declareSharding(!k.skip)
		return nil
	case name == "":
		name2 := ""
		if len(names) == 1 {
			name2 = names[0]
		}
		name = d.chooseName(d.t.Schema, d.t, name2, "check", false)
	case hasConstraint(d.t, name) && d.was == nil:
		return pgerr.New(pgerr.DuplicateObject, `check constraint "%s" already exists`, name)
	case hasConstraint(d.t, name):
		return duplicateConstraint(d.t, name)
	}
	oid, err := d.newOID()
	if err != nil {
		return err
	}
	con := catalog.Constraint{OID: oid, Name: name, Kind: catalog.Check, Columns: used, Check: deparse.Expr(e),
		NoInherit: k.noInherit, Valid: !k.skip}
	d.t.Constraints = append(d.t.Constraints, con)
	if !k.skip {
		d.scans = append(d.scans, checkScan(d.t, &con))
	}
	return nil
}

func checkScan(t *catalog.Table, con *catalog.Constraint) scan {
	e := pgerr.New(pgerr.CheckViolation, `check constraint "%s" of relation "%s" is violated by some row`, con.Name,
		t.Name)
	e.Table, e.Constraint = t.Name, con.Name
	return scan{"NOT (" + con.Check + ")", e}
}

func duplicateConstraint(t *catalog.Table, name string) error {
	return pgerr.New(pgerr.DuplicateObject, `constraint "%s" for relation "%s" already exists`, name, t.Name)
}

// runScans returns an error if a row violates a condition by the new definitions.
func (d *draft) runScans() error {
	if len(d.scans) == 0 || d.restored {
		return nil
	}
	filled, err := d.filled()
	if err != nil || !filled {
		return err
	}
	view, err := d.relaxed()
	if err != nil {
		return err
	}
	for _, s := range d.scans {
		bad, err := d.anyRow(view, "SELECT 1 FROM "+d.quoted(view, d.t)+" WHERE "+s.where+" LIMIT 1")
		if err != nil {
			return err
		}
		if bad {
			if schema := d.view.Schema(d.t.Schema); schema != nil {
				s.err.Schema = schema.Name
			}
			return s.err
		}
	}
	return nil
}

// relaxed returns the new definitions, without the constraints that have not been checked against
// the rows yet.
func (d *draft) relaxed() (*catalog.View, error) {
	t := d.t.Clone()
	var keep []catalog.Constraint
	for _, k := range t.Constraints {
		if k.Kind == catalog.PrimaryKey {
			keep = append(keep, k)
		}
	}
	t.Constraints = keep
	t.Indexes = slices.DeleteFunc(t.Indexes, func(x catalog.Index) bool { return slices.Contains(d.fills, x.OID) })
	for i := range t.Columns {
		t.Columns[i].NotNull = false
	}
	ch := d.view.Plan()
	if err := ch.PutTable(t); err != nil {
		return nil, err
	}
	return ch.Preview()
}

// columnLocation returns the location at which an expression first names a column, or -1.
func columnLocation(n *pg_query.Node, name string) int32 {
	found := int32(-1)
	walkNodes(n.ProtoReflect(), func(m protoreflect.Message) {
		if ref, ok := m.Interface().(*pg_query.ColumnRef); ok && found < 0 {
			if parts := texts(ref.Fields); len(parts) > 0 && parts[len(parts)-1] == name {
				found = ref.Location
			}
		}
	})
	return found
}

// walkNodes calls f for every message of a parse tree.
func walkNodes(m protoreflect.Message, f func(protoreflect.Message)) {
	f(m)
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				walkNodes(v.List().Get(i).Message(), f)
			}
		case fd.Message() != nil && !fd.IsMap():
			walkNodes(v.Message(), f)
		}
		return true
	})
}
