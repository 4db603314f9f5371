package table

import (
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// maxRowSize bounds an encoded row.
const maxRowSize = 16 << 20

// Rule holds the constraints of a new row of a table, and encodes it.
type Rule struct {
	Table     *Table
	Schema    string
	Generated []GeneratedColumn
	checks    []checkRule
	policies  []rowCheck
	Indexes   []*Index
}

// GeneratedColumn is a column whose value an expression computes.
type GeneratedColumn struct {
	Col  int
	expr expr.Eval
}

type checkRule struct {
	name string
	view string // the view whose check option it is, "" for a constraint
	expr expr.Eval
}

// rowCheck is a check of row security; name is "" if it stands for several policies.
type rowCheck struct {
	name string
	row  query.RowCheck
	expr expr.Eval
}

// NewRule compiles the rule of a Modify's table.
func NewRule(k *expr.Compiler, n *plan.Modify) (*Rule, error) {
	t, err := New(n.Table)
	if err != nil {
		return nil, err
	}
	r := &Rule{Table: t, Schema: n.Schema}
	for _, c := range n.Checks {
		f, err := k.Expr(c.Expr)
		if err != nil {
			return nil, err
		}
		if c.Row != query.NoRowCheck {
			r.policies = append(r.policies, rowCheck{c.Name, c.Row, f})
		} else if c.Generated >= 0 {
			r.Generated = append(r.Generated, GeneratedColumn{c.Generated, f})
		} else {
			r.checks = append(r.checks, checkRule{c.Name, c.View, f})
		}
	}
	r.Indexes, err = NewIndexes(k, t, n.Indexes)
	return r, err
}

// Generate computes the generated columns of row, which may be followed by other slots.
func (r *Rule) Generate(c *expr.Ctx, row types.Row) error {
	for _, g := range r.Generated {
		d, err := g.expr(c, row)
		if err != nil {
			return err
		}
		row[g.Col] = d
	}
	return nil
}

// Allow checks a row against row security.
func (r *Rule) Allow(c *expr.Ctx, row types.Row, which query.RowCheck) error {
	for _, k := range r.policies {
		if k.row != which {
			continue
		}
		ok, err := k.expr.Holds(c, row)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		name, using := "", ""
		if k.name != "" {
			name = ` "` + k.name + `"`
		}
		if which == query.RowConflicted {
			using = " (USING expression)"
		}
		return pgerr.New(pgerr.InsufficientPrivilege,
			`new row violates row-level security policy%s%s for table "%s"`, name, using, r.Table.Def.Name)
	}
	return nil
}

// Check checks a new row, which INSERT or UPDATE has made, against row security, NOT NULL, CHECK and the
// sharding policy.
func (r *Rule) Check(c *expr.Ctx, row types.Row, made query.RowCheck) error {
	if err := r.Allow(c, row, made); err != nil {
		return err
	}
	for i := range r.Table.Def.Columns {
		if col := &r.Table.Def.Columns[i]; col.NotNull && !col.Dropped && row[i].IsNull() {
			return r.NullError(c, col, row)
		}
	}
	for _, k := range r.checks {
		d, err := k.expr(c, row)
		if err != nil {
			return err
		}
		switch fails := !d.IsNull() && d.N == 0; {
		case fails && k.view != "":
			return pgerr.New(pgerr.WithCheckOptionViolation, `new row violates check option for view "%s"`, k.view).
				WithDetail("%s", r.failing(c, row))
		case fails:
			return r.checkError(c, k.name, row)
		}
	}
	return r.Table.CheckPlace(row)
}

// Encode returns the stored form of a row.
func (r *Rule) Encode(dst []byte, row types.Row) ([]byte, error) {
	at := len(dst)
	dst = types.AppendRow(dst, row[:len(r.Table.Kinds)])
	if size := len(dst) - at; size > maxRowSize {
		return dst, pgerr.New(pgerr.ProgramLimitExceeded, "row is too big: size %d, maximum size %d", size, maxRowSize).
			WithHint("Split the document, or keep large parts in a table of their own.")
	}
	return dst, nil
}

// Decode reads a stored row, all columns.
func (t *Table) Decode(reader *types.RowReader, dst types.Row, value []byte) error {
	if err := reader.Reset(value); err != nil {
		return err
	}
	return reader.Columns(dst, t.Kinds, t.Missing)
}

// NullError returns the error of a row that has a null in a NOT NULL column.
func (r *Rule) NullError(c *expr.Ctx, col *catalog.Column, row types.Row) error {
	e := pgerr.New(pgerr.NotNullViolation,
		`null value in column "%s" of relation "%s" violates not-null constraint`, col.Name, r.Table.Def.Name)
	e.Detail = r.failing(c, row)
	e.Schema, e.Table, e.Column = r.Schema, r.Table.Def.Name, col.Name
	return e
}

func (r *Rule) checkError(c *expr.Ctx, name string, row types.Row) error {
	e := pgerr.New(pgerr.CheckViolation,
		`new row for relation "%s" violates check constraint "%s"`, r.Table.Def.Name, name)
	e.Detail = r.failing(c, row)
	e.Schema, e.Table, e.Constraint = r.Schema, r.Table.Def.Name, name
	return e
}

// shownValue bounds, in bytes, the values that DETAIL shows, as PostgreSQL does.
const shownValue = 64

// failing is DETAIL of a row that a constraint refuses.
func (r *Rule) failing(c *expr.Ctx, row types.Row) string {
	var parts []string
	for i := range r.Table.Def.Columns {
		col := &r.Table.Def.Columns[i]
		switch {
		case col.Dropped:
		case row[i].IsNull():
			parts = append(parts, "null")
		default:
			parts = append(parts, clip(types.Output(col.Type, row[i], c.Env)))
		}
	}
	return "Failing row contains (" + strings.Join(parts, ", ") + ")."
}

func clip(s string) string {
	if len(s) <= shownValue {
		return s
	}
	n := shownValue
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// primaryKey returns the constraint of the primary key.
func (t *Table) primaryKey() *catalog.Constraint {
	for i := range t.Def.Constraints {
		if k := &t.Def.Constraints[i]; k.Kind == catalog.PrimaryKey {
			return k
		}
	}
	return nil
}

// Duplicate returns the error of a duplicate key; value is the encoded new row.
func (r *Rule) Duplicate(c *expr.Ctx, value []byte) error {
	pk := r.Table.primaryKey()
	if pk == nil {
		return pgerr.New(pgerr.InternalError, "hidden row id of table %q is taken", r.Table.Def.Name)
	}
	names, vals, err := r.keyTexts(c, value)
	if err != nil {
		return err
	}
	e := pgerr.New(pgerr.UniqueViolation, `duplicate key value violates unique constraint "%s"`, pk.Name).
		WithDetail("Key (%s)=(%s) already exists.", strings.Join(names, ", "), strings.Join(vals, ", "))
	e.Schema, e.Table, e.Constraint = r.Schema, r.Table.Def.Name, pk.Name
	return e
}

// CheckThere checks an existing row against constraints that are added or kept.
func (r *Rule) CheckThere(c *expr.Ctx, row types.Row) error {
	for i := range r.Table.Def.Columns {
		if col := &r.Table.Def.Columns[i]; col.NotNull && !col.Dropped && row[i].IsNull() {
			e := pgerr.New(pgerr.NotNullViolation,
				`column "%s" of relation "%s" contains null values`, col.Name, r.Table.Def.Name)
			e.Schema, e.Table, e.Column = r.Schema, r.Table.Def.Name, col.Name
			return e
		}
	}
	for _, k := range r.checks {
		d, err := k.expr(c, row)
		if err != nil {
			return err
		}
		if !d.IsNull() && d.N == 0 {
			e := pgerr.New(pgerr.CheckViolation,
				`check constraint "%s" of relation "%s" is violated by some row`, k.name, r.Table.Def.Name)
			e.Schema, e.Table, e.Constraint = r.Schema, r.Table.Def.Name, k.name
			return e
		}
	}
	if !r.Table.Def.PolicyValidated {
		return nil
	}
	return r.Table.CheckPlace(row)
}

// NotUnique returns the error of a primary key that is added to rows; value is a row with the key
// of another, encoded.
func (r *Rule) NotUnique(c *expr.Ctx, value []byte) error {
	names, values, err := r.keyTexts(c, value)
	if err != nil {
		return err
	}
	e := pgerr.New(pgerr.UniqueViolation, `could not create unique index "%s"`, r.Table.primaryKey().Name).
		WithDetail("Key (%s)=(%s) is duplicated.", strings.Join(names, ", "), strings.Join(values, ", "))
	e.Schema, e.Table, e.Constraint = r.Schema, r.Table.Def.Name, r.Table.primaryKey().Name
	return e
}

// keyTexts prints the primary key of an encoded row.
func (r *Rule) keyTexts(c *expr.Ctx, value []byte) (names, values []string, err error) {
	row := make(types.Row, len(r.Table.Kinds))
	var reader types.RowReader
	if err := r.Table.Decode(&reader, row, value); err != nil {
		return nil, nil, err
	}
	for _, i := range r.Table.Key {
		col := &r.Table.Def.Columns[i]
		names, values = append(names, col.Name), append(values, types.Output(col.Type, row[i], c.Env))
	}
	return names, values, nil
}
