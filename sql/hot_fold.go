package sql

import (
	"context"
	"errors"
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

// fold is split documents of one table whose parts were put into them: the parts are locked, and hold nothing.
type fold struct {
	ctx     context.Context
	x       *stmt.Executor // whose statements are analyzed against view
	t       *tx.Tx
	view    *catalog.View
	table   *catalog.Table
	parts   *catalog.Table
	changes bool // what follows may change the documents
	docs    []foldedDocument
}

// newFold makes one of no documents, with the definitions of a view.
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
	return f.table.OID == def.OID && slices.ContainsFunc(f.docs, func(x foldedDocument) bool { return x.doc.Number == d.Number })
}

// foldFor puts the parts into all documents that a program is about to write or to lock. The program sees that as if it had been so before.
func (r *splitRun) foldFor(h *hotProgram) ([]*fold, error) {
	var out []*fold
	wrote := false
	for _, table := range h.tables {
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

// foldFirst does that before a cursor is opened: it sees nothing of what its transaction writes later.
func (s *Session) foldFirst(ctx context.Context, p *stmt.Program, args []types.Datum) error {
	h := hotProgramOf(p)
	if h == nil || !slices.ContainsFunc(h.tables, func(t *hotTable) bool { return t.written }) {
		return nil
	}
	p, err := s.settle(ctx, p)
	if err != nil {
		return err
	}
	if h = hotProgramOf(p); h == nil {
		return nil
	}
	s.tx.Used = true
	if err := errors.Join(s.tx.ReadPastAsSet(), s.tx.TakeSnapshot(ctx)); err != nil {
		return err
	}
	c, x := s.execution(ctx, args), s.executor(ctx)
	_, err = (&splitRun{&x, s.tx.Tx, c}).foldFor(h)
	return err
}

// documents locks the parts of documents, in the order of their keys, and puts what they hold into the documents. A document that has no parts
// is none any more, or not yet at the transaction's snapshot, and is left out.
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

// lockParts locks the parts and gives their sums, and what they say of the documents' own rows, by the documents' numbers.
func (f *fold) lockParts(docs []*catalog.HotDocument) (sums, bases map[int32][]types.Datum, err error) {
	n := len(f.table.Hot.Counters)
	var columns strings.Builder
	for i := range n {
		fmt.Fprintf(&columns, ", c%d, b%d", i, i)
	}
	text := fmt.Sprintf("SELECT d%s FROM %s WHERE k = ANY($1) ORDER BY k FOR UPDATE", columns.String(), quotedName(f.view, f.parts))
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

// partKeys gives the keys of documents' parts as an array.
func partKeys(docs ...*catalog.HotDocument) types.Datum {
	var out []types.Datum
	for _, d := range docs {
		for _, k := range d.Parts {
			out = append(out, types.NewInt(k))
		}
	}
	return int8Array(out)
}

// keyColumn gives the table's one key column.
func keyColumn(t *catalog.Table) *catalog.Column { return t.ColumnByNum(t.PrimaryKey().Columns[0]) }

// addToDocument adds sums to the counters in a document's own row. A row that stays as it is is written too: who has seen an older one must not write it.
func (f *fold) addToDocument(d *catalog.HotDocument, sums []types.Datum) error {
	set, params, args := assignments(f.table, sums)
	if len(set) == 0 {
		name := builtin.QuoteIdent(keyColumn(f.table).Name)
		set = []string{name + " = " + name}
	}
	key, err := keyDatum(f.table, d)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("UPDATE %s SET %s WHERE %s = $%d", quotedName(f.view, f.table), strings.Join(set, ", "),
		builtin.QuoteIdent(keyColumn(f.table).Name), len(args)+1)
	return f.run(stmt.Hidden{Text: text, Params: append(params, keyColumn(f.table).Type), Args: append(args, key)}, nil)
}

// assignments spells what adds sums to counters, one assignment for each column.
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
			expr = fmt.Sprintf("jsonb_set(%s, %s, to_jsonb((%s #>> %s)::numeric + $%d))", expr, path, name, path, len(args))
		}
		if expr != name {
			set = append(set, name+" = "+expr)
		}
	}
	return set, params, args
}

// pathText spells a path as a constant of type text[].
func pathText(path []string) string {
	elems := make([]types.Datum, len(path))
	for i, p := range path {
		elems[i] = types.NewText(p)
	}
	d := types.NewArray(types.Text, []int32{int32(len(elems))}, []int32{1}, elems)
	return builtin.QuoteLiteral(types.Output(types.TextArray, d, nil)) + "::text[]"
}

// emptyParts sets the parts of a document to nothing, and what they know of its row to what is there now.
func (f *fold) emptyParts(x *foldedDocument) error {
	bases, there, err := f.bases(x.doc)
	if err != nil || !there {
		return err
	}
	x.bases = bases
	return f.writeParts(x)
}

// writeParts writes parts that hold nothing.
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
	text := fmt.Sprintf("UPDATE %s SET %s WHERE k = ANY($1)", quotedName(f.view, f.parts), strings.Join(set, ", "))
	return f.run(stmt.Hidden{Text: text, Params: params, Args: args}, nil)
}

// bases reads the counters in a document's own row. What cannot be added to in a part is null: a null, a document's field that is no whole number,
// a number that is none. there is false where there is no such document.
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
		columns = append(columns, fmt.Sprintf("CASE WHEN jsonb_typeof(%s #> %s) = 'number' THEN (%s #>> %s)::numeric END", name, path, name, path))
	}
	key, err := keyDatum(f.table, d)
	if err != nil {
		return nil, false, err
	}
	text := fmt.Sprintf("SELECT %s FROM %s WHERE %s = $1", strings.Join(columns, ", "), quotedName(f.view, f.table), builtin.QuoteIdent(keyColumn(f.table).Name))
	st := stmt.Hidden{Text: text, Params: []types.OID{keyColumn(f.table).Type}, Args: []types.Datum{key}}
	err = f.run(st, func(row []types.Datum) error {
		there, out = true, make([]types.Datum, len(row))
		for i, v := range row {
			scale, finite := int32(0), false
			if !v.IsNull() {
				scale, finite = types.NumericScale(v)
			}
			if !finite || scale > 0 && len(f.table.Hot.Counters[i].Path) > 0 || !slices.Contains(d.Counters, int32(i)) {
				out[i] = types.Null
				continue
			}
			out[i] = v.Clone()
		}
		return nil
	})
	return out, there, err
}

// keyDatum gives the key of a document as its table has it.
func keyDatum(t *catalog.Table, d *catalog.HotDocument) (types.Datum, error) {
	return types.Input(keyColumn(t).Type, -1, d.ID, nil)
}

// settle sets right what the parts know of documents that a program may have changed. Where the document is gone, its parts go.
func (f *fold) settle() error {
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
			text := fmt.Sprintf("DELETE FROM %s WHERE k = ANY($1)", quotedName(f.view, f.parts))
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
