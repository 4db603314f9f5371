package counters

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// fold is split documents of one table whose parts were added to their rows. The parts are locked,
// and hold nothing.
type fold struct {
	ctx     context.Context
	x       *stmt.Executor // whose statements are analyzed against view
	t       *tx.Tx
	view    *catalog.View
	table   *catalog.Table
	parts   *catalog.Table
	changes bool // the program may change the documents afterwards
	docs    []foldedDocument
}

// newFold returns a fold of no documents, with the definitions of a view.
func newFold(ctx context.Context, x *stmt.Executor, t *tx.Tx, view *catalog.View, table, parts *catalog.Table) *fold {
	return &fold{ctx: ctx, x: x.Against(view), t: t, view: view, table: table, parts: parts}
}

// run runs a statement on the table or its parts.
func (f *fold) run(st stmt.Hidden, emit exec.Emit) error {
	_, err := f.x.Hidden(f.ctx, f.t, st, emit)
	return err
}

type foldedDocument struct {
	doc   *catalog.HotDocument
	bases []types.Datum // of its counters, by position in Hot.Counters, as the parts have them
}

func (f *fold) has(def *catalog.Table, d *catalog.HotDocument) bool {
	folded := func(x foldedDocument) bool { return x.doc.Number == d.Number }
	return f.table.OID == def.OID && slices.ContainsFunc(f.docs, folded)
}

// foldFor folds all documents that a program is about to write or to lock. The program sees the
// result as if it had been so before.
func (r *run) foldFor(s *step) ([]*fold, error) {
	var out []*fold
	wrote := false
	for _, table := range s.tables {
		if !table.written {
			continue
		}
		docs, err := r.documents(table.def, table.writes, false)
		if err != nil {
			return nil, err
		}
		if len(docs) == 0 {
			continue
		}
		f := newFold(r.c.Context, r.x, r.t, r.t.View(), table.def, table.parts)
		f.changes = table.changes
		did, err := f.documents(docs)
		if err != nil {
			return nil, err
		}
		if did && r.c.Steady {
			return nil, errSplitCursor(table.def)
		}
		wrote = wrote || did
		out = append(out, f)
	}
	if wrote {
		r.c.Before = r.t.Parts.Mark()
	}
	return out, nil
}

// Folds reports whether a program may put parts into documents before it runs.
func Folds(p *stmt.Program) bool {
	s, ok := p.Split.(*step)
	return ok && slices.ContainsFunc(s.tables, func(t *splitTable) bool { return t.written })
}

// Fold does that for a cursor before it is opened, in a context of the program: the cursor does not
// see what its transaction writes later.
func Fold(x *stmt.Executor, t *tx.Tx, p *stmt.Program, c *exec.Ctx) error {
	s, ok := p.Split.(*step)
	if !ok {
		return nil
	}
	_, err := (&run{x, t, c}).foldFor(s)
	return err
}

// documents locks the parts of documents, in the order of their keys, and adds what they hold to
// the documents. A document without parts is left out: it was deleted or joined, or is not yet
// split at the transaction's snapshot.
func (f *fold) documents(docs []*catalog.HotDocument) (wrote bool, err error) {
	sums, bases, err := f.lockParts(docs)
	if err != nil {
		return false, err
	}
	for _, d := range docs {
		sum := sums[d.Number]
		if sum == nil {
			continue
		}
		x := foldedDocument{d, bases[d.Number]}
		if slices.ContainsFunc(sum, func(n types.Datum) bool { return types.NumericSign(n) != 0 }) {
			wrote = true
			if err := f.addToDocument(d, sum); err != nil {
				return wrote, err
			}
			if err := f.emptyParts(&x); err != nil {
				return wrote, err
			}
		}
		f.docs = append(f.docs, x)
	}
	return wrote, nil
}

// lockParts locks the parts. By the numbers of the documents it returns the sums of the parts, and
// the counters of the documents' own rows as the parts have them.
func (f *fold) lockParts(docs []*catalog.HotDocument) (sums, bases map[int32][]types.Datum, err error) {
	n := len(f.table.Hot.Counters)
	var columns strings.Builder
	for i := range n {
		fmt.Fprintf(&columns, ", c%d, b%d", i, i)
	}
	text := fmt.Sprintf("SELECT d%s FROM %s WHERE k = ANY($1) ORDER BY k FOR UPDATE",
		columns.String(), stmt.TableName(f.view, f.parts))
	sums, bases = map[int32][]types.Datum{}, map[int32][]types.Datum{}
	take := func(row []types.Datum) error {
		d := int32(row[0].N)
		if sums[d] == nil {
			sums[d], bases[d] = make([]types.Datum, n), make([]types.Datum, n)
			for i := range n {
				sums[d][i] = types.NumericFromInt(0)
			}
		}
		for i := range n {
			bases[d][i] = row[2+2*i].Clone()
			if row[1+2*i].IsNull() {
				continue
			}
			sum, err := types.NumericAdd(sums[d][i], row[1+2*i])
			if err != nil {
				return err
			}
			sums[d][i] = sum.Clone()
		}
		return nil
	}
	err = f.run(aboutParts(text, docs...), take)
	return sums, bases, err
}

// aboutParts returns a statement whose parameter is the keys of the parts of documents.
func aboutParts(text string, docs ...*catalog.HotDocument) stmt.Hidden {
	return stmt.Hidden{Text: text, Params: []types.OID{types.Int8Array}, Args: []types.Datum{partKeys(docs...)}}
}

// partKeys returns the keys of documents' parts as an array.
func partKeys(docs ...*catalog.HotDocument) types.Datum {
	var out []types.Datum
	for _, d := range docs {
		for _, k := range d.Parts {
			out = append(out, types.NewInt(k))
		}
	}
	return int8Array(out)
}

// KeyColumn returns the one key column of a table with split documents.
func KeyColumn(t *catalog.Table) *catalog.Column { return t.ColumnByNum(t.PrimaryKey().Columns[0]) }

// addToDocument adds sums to the counters in a document's own row. It writes the row even if the
// sums are 0, so that a transaction that has seen an older version gets a conflict when it writes
// the row.
func (f *fold) addToDocument(d *catalog.HotDocument, sums []types.Datum) error {
	set, params, args := assignments(f.table, sums)
	if len(set) == 0 {
		name := builtin.QuoteIdent(KeyColumn(f.table).Name)
		set = []string{name + " = " + name}
	}
	key, err := keyDatum(f.table, d)
	if err != nil {
		return err
	}
	column := KeyColumn(f.table)
	text := fmt.Sprintf("UPDATE %s SET %s WHERE %s = $%d", stmt.TableName(f.view, f.table), strings.Join(set, ", "),
		builtin.QuoteIdent(column.Name), len(args)+1)
	return f.run(stmt.Hidden{Text: text, Params: append(params, column.Type), Args: append(args, key)}, nil)
}

// assignments returns the SQL that adds sums to counters, one assignment for each column.
func assignments(t *catalog.Table, sums []types.Datum) (set []string, params []types.OID, args []types.Datum) {
	done := map[int16]bool{}
	for i, c := range t.Hot.Counters {
		col := t.ColumnByNum(c.Column)
		if done[c.Column] || col == nil || col.Dropped {
			continue
		}
		done[c.Column] = true
		name := builtin.QuoteIdent(col.Name)
		expr := name
		for j, o := range t.Hot.Counters[i:] {
			sum := sums[i+j]
			if o.Column != c.Column || types.NumericSign(sum) == 0 {
				continue
			}
			params, args = append(params, types.Numeric), append(args, sum)
			if len(o.Path) == 0 {
				expr = fmt.Sprintf("(%s::numeric + $%d)::%s", name, len(args), types.TypeName(col.Type))
				continue
			}
			path := pathText(o.Path)
			expr = fmt.Sprintf("jsonb_set(%s, %s, to_jsonb((%s #>> %s)::numeric + $%d))",
				expr, path, name, path, len(args))
		}
		if expr != name {
			set = append(set, name+" = "+expr)
		}
	}
	return set, params, args
}

// pathText returns a path as an SQL constant of type text[].
func pathText(path []string) string {
	elems := make([]types.Datum, len(path))
	for i, p := range path {
		elems[i] = types.NewText(p)
	}
	d := types.NewArray(types.Text, []int32{int32(len(elems))}, []int32{1}, elems)
	return builtin.QuoteLiteral(types.Output(types.TextArray, d, nil)) + "::text[]"
}

// emptyParts sets the counters of a document's parts to 0, and their bases to those of its row.
func (f *fold) emptyParts(x *foldedDocument) error {
	bases, there, err := f.bases(x.doc)
	if err != nil || !there {
		return err
	}
	x.bases = bases
	return f.writeParts(x)
}

// writeParts writes empty parts with the bases of a document.
func (f *fold) writeParts(x *foldedDocument) error {
	var set []string
	params, args := []types.OID{types.Int8Array}, []types.Datum{partKeys(x.doc)}
	for i, b := range x.bases {
		params, args = append(params, types.Numeric), append(args, b)
		zero := "NULL"
		if slices.Contains(x.doc.Counters, int32(i)) {
			zero = "0"
		}
		set = append(set, fmt.Sprintf("c%d = %s, b%d = $%d", i, zero, i, len(args)))
	}
	text := fmt.Sprintf("UPDATE %s SET %s WHERE k = ANY($1)", stmt.TableName(f.view, f.parts), strings.Join(set, ", "))
	return f.run(stmt.Hidden{Text: text, Params: params, Args: args}, nil)
}

// bases reads the counters in a document's own row. A counter that cannot be added to in a part is
// null: a null, NaN or infinity, and a field of a document that is no whole number. there is false
// if the document does not exist.
func (f *fold) bases(d *catalog.HotDocument) (out []types.Datum, there bool, err error) {
	var columns []string
	for _, c := range f.table.Hot.Counters {
		col := f.table.ColumnByNum(c.Column)
		if col == nil || col.Dropped {
			columns = append(columns, "NULL::numeric")
			continue
		}
		name := builtin.QuoteIdent(col.Name)
		if len(c.Path) == 0 {
			columns = append(columns, name+"::numeric")
			continue
		}
		path := pathText(c.Path)
		columns = append(columns, fmt.Sprintf(
			"CASE WHEN jsonb_typeof(%s #> %s) = 'number' THEN (%s #>> %s)::numeric END", name, path, name, path))
	}
	key, err := keyDatum(f.table, d)
	if err != nil {
		return nil, false, err
	}
	column := KeyColumn(f.table)
	text := fmt.Sprintf("SELECT %s FROM %s WHERE %s = $1",
		strings.Join(columns, ", "), stmt.TableName(f.view, f.table), builtin.QuoteIdent(column.Name))
	st := stmt.Hidden{Text: text, Params: []types.OID{column.Type}, Args: []types.Datum{key}}
	err = f.run(st, func(row []types.Datum) error {
		there, out = true, make([]types.Datum, len(row))
		for i, v := range row {
			scale, finite := int32(0), false
			if !v.IsNull() {
				scale, finite = types.NumericScale(v)
			}
			fraction := scale > 0 && len(f.table.Hot.Counters[i].Path) > 0
			if !finite || fraction || !slices.Contains(d.Counters, int32(i)) {
				out[i] = types.Null
				continue
			}
			out[i] = v.Clone()
		}
		return nil
	})
	return out, there, err
}

// keyDatum returns the key of a document as its table has it.
func keyDatum(t *catalog.Table, d *catalog.HotDocument) (types.Datum, error) {
	return types.Input(KeyColumn(t).Type, -1, d.ID, nil)
}

// updateBases updates the bases of documents that a program may have changed. It deletes the parts
// of deleted documents.
func (f *fold) updateBases() error {
	if !f.changes {
		return nil
	}
	for i := range f.docs {
		x := &f.docs[i]
		bases, there, err := f.bases(x.doc)
		switch {
		case err != nil:
			return err
		case !there:
			text := fmt.Sprintf("DELETE FROM %s WHERE k = ANY($1)", stmt.TableName(f.view, f.parts))
			if err := f.run(aboutParts(text, x.doc), nil); err != nil {
				return err
			}
		case !slices.EqualFunc(bases, x.bases, sameNumber):
			x.bases = bases
			if err := f.writeParts(x); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameNumber(a, b types.Datum) bool {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() && b.IsNull()
	}
	return types.CompareNumeric(a, b) == 0
}
