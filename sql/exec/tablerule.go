package exec

import (
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// maxRowSize bounds an encoded row.
const maxRowSize = 16 << 20

// tableRule holds the constraints of a new row of a table, and encodes it.
type tableRule struct {
	table     *table
	schema    string
	generated []generatedColumn
	checks    []checkRule
	indexes   []*indexRule
}

type generatedColumn struct {
	col  int
	expr expr.Eval
}

type checkRule struct {
	name string
	expr expr.Eval
}

func (k *compiler) tableRule(n *plan.Modify) (*tableRule, error) {
	t, err := newTable(n.Table)
	if err != nil {
		return nil, err
	}
	r := &tableRule{table: t, schema: n.Schema}
	for _, c := range n.Checks {
		f, err := k.Expr(c.Expr)
		if err != nil {
			return nil, err
		}
		if c.Generated >= 0 {
			r.generated = append(r.generated, generatedColumn{c.Generated, f})
		} else {
			r.checks = append(r.checks, checkRule{c.Name, f})
		}
	}
	r.indexes, err = k.indexRules(t, n.Indexes)
	return r, err
}

// generate computes the generated columns of row, which may be followed by other slots.
func (r *tableRule) generate(c *Ctx, row types.Row) error {
	for _, g := range r.generated {
		d, err := g.expr(&c.Ctx, row)
		if err != nil {
			return err
		}
		row[g.col] = d
	}
	return nil
}

// check checks a new row against NOT NULL, CHECK and the sharding policy.
func (r *tableRule) check(c *Ctx, row types.Row) error {
	for i := range r.table.def.Columns {
		if col := &r.table.def.Columns[i]; col.NotNull && !col.Dropped && row[i].IsNull() {
			return r.nullError(c, col, row)
		}
	}
	for _, k := range r.checks {
		d, err := k.expr(&c.Ctx, row)
		if err != nil {
			return err
		}
		if !d.IsNull() && d.N == 0 {
			return r.checkError(c, k.name, row)
		}
	}
	return r.table.checkPlace(row)
}

// encode returns the stored form of a row.
func (r *tableRule) encode(dst []byte, row types.Row) ([]byte, error) {
	at := len(dst)
	dst = types.AppendRow(dst, row[:len(r.table.kinds)])
	if size := len(dst) - at; size > maxRowSize {
		return dst, pgerr.New(pgerr.ProgramLimitExceeded, "row is too big: size %d, maximum size %d", size, maxRowSize).
			WithHint("Split the document, or keep large parts in a table of their own.")
	}
	return dst, nil
}

// decode reads a stored row, all columns.
func (t *table) decode(reader *types.RowReader, dst types.Row, value []byte) error {
	if err := reader.Reset(value); err != nil {
		return err
	}
	return reader.Columns(dst, t.kinds, t.missing)
}

func (r *tableRule) nullError(c *Ctx, col *catalog.Column, row types.Row) error {
	e := pgerr.New(pgerr.NotNullViolation, `null value in column "%s" of relation "%s" violates not-null constraint`, col.Name, r.table.def.Name)
	e.Detail = r.failing(c, row)
	e.Schema, e.Table, e.Column = r.schema, r.table.def.Name, col.Name
	return e
}

func (r *tableRule) checkError(c *Ctx, name string, row types.Row) error {
	e := pgerr.New(pgerr.CheckViolation, `new row for relation "%s" violates check constraint "%s"`, r.table.def.Name, name)
	e.Detail = r.failing(c, row)
	e.Schema, e.Table, e.Constraint = r.schema, r.table.def.Name, name
	return e
}

// shownValue bounds, in bytes, the values that DETAIL shows, as PostgreSQL does.
const shownValue = 64

// failing is DETAIL of a row that a constraint refuses.
func (r *tableRule) failing(c *Ctx, row types.Row) string {
	var parts []string
	for i := range r.table.def.Columns {
		col := &r.table.def.Columns[i]
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
func (t *table) primaryKey() *catalog.Constraint {
	for i := range t.def.Constraints {
		if k := &t.def.Constraints[i]; k.Kind == catalog.PrimaryKey {
			return k
		}
	}
	return nil
}

// duplicate returns the error of a duplicate key; value is the encoded new row.
func (r *tableRule) duplicate(c *Ctx, value []byte) error {
	pk := r.table.primaryKey()
	if pk == nil {
		return internal("hidden row id of table %q is taken", r.table.def.Name)
	}
	names, vals, err := r.keyTexts(c, value)
	if err != nil {
		return err
	}
	e := pgerr.New(pgerr.UniqueViolation, `duplicate key value violates unique constraint "%s"`, pk.Name).
		WithDetail("Key (%s)=(%s) already exists.", strings.Join(names, ", "), strings.Join(vals, ", "))
	e.Schema, e.Table, e.Constraint = r.schema, r.table.def.Name, pk.Name
	return e
}
