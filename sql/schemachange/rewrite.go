package schemachange

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// rewriting replaces former ids of a collection's documents by their present ids, in one column of
// another table or at one path of its documents. It reads that table in the order of its primary
// key. It writes as a client does: policies, constraints and foreign keys of the table hold.
type rewriting struct {
	*task
	state catalog.Rewriting
	ref   placeOfIDs
	keys  []string // names of the primary key's columns, quoted
	kinds []string // their types, in SQL
	from  string   // the table of entries
}

// placeOfIDs is how a table refers to documents, in SQL over the table as x.
type placeOfIDs struct {
	table *catalog.Table
	name  string // of the table, quoted
	value string // the id that a row refers to
	set   string // the assignment of m.n to it
}

// CheckReference returns an error if a table has no column or path in which references to documents
// can be rewritten.
func CheckReference(v *catalog.View, t *catalog.Table, path string) error {
	_, err := referenceAt(v, t, path)
	return err
}

// referenceAt finds the place of references: a column by its name, or a path into the document.
func referenceAt(v *catalog.View, t *catalog.Table, path string) (placeOfIDs, error) {
	r := placeOfIDs{table: t, name: stmt.TableName(v, t)}
	if c := t.Column(path); c != nil {
		if c.Type != types.Text && c.Type != types.VarChar {
			return r, pgerr.New(pgerr.DatatypeMismatch,
				`column "%s" of "%s" does not hold ids: it is no text`, path, t.Name)
		}
		r.value = "x." + builtin.QuoteIdent(c.Name)
		r.set = builtin.QuoteIdent(c.Name) + " = m.n"
		return r, nil
	}
	f, err := shardmap.ParseField(path)
	if err != nil {
		return r, err
	}
	doc := t.ColumnByNum(t.Document)
	if t.Document == 0 || doc == nil || f.Func != shardmap.PlainField {
		return r, pgerr.New(pgerr.UndefinedColumn, `column "%s" of relation "%s" does not exist`, path, t.Name).
			WithHint("Name a column, or a path into the document of a table that has one.")
	}
	at := "ARRAY[" + stmt.Literals(f.Path) + "]"
	name := builtin.QuoteIdent(doc.Name)
	r.value = "CASE WHEN jsonb_typeof(x." + name + " #> " + at + ") = 'string'" +
		" THEN x." + name + " #>> " + at + " END"
	r.set = name + " = jsonb_set(x." + name + ", " + at + ", to_jsonb(m.n))"
	return r, nil
}

const rewriteBatch = 500 // rows that are read together

// rewrite runs a RewritingJob.
func (w *task) rewrite(ctx context.Context) error {
	r := &rewriting{task: w}
	var err error
	if r.state, err = w.job.Rewriting(); err != nil {
		return err
	}
	w.done, w.some = w.job.Done, r.state.Some
	for {
		began := time.Now()
		if err := r.define(); err != nil {
			return err
		}
		n, err := r.batch(ctx)
		if err != nil {
			return err
		}
		r.pace(ctx, "sherd.replace_rate", n, began)
		if n < rewriteBatch || time.Since(w.reported) > progressEvery {
			if err := w.report(ctx, r.state); err != nil || n < rewriteBatch {
				return err
			}
		}
	}
}

// define reads the newest definitions.
func (r *rewriting) define() error {
	v, to, err := r.table(r.job.Table)
	if err != nil {
		return err
	}
	if to.Forwarding == 0 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`documents of "%s" have no former ids any more`, to.Name)
	}
	_, t, err := r.table(r.state.Referrer)
	if err != nil {
		return err
	}
	if r.ref, err = referenceAt(v, t, r.state.Path); err != nil {
		return err
	}
	r.from, r.keys, r.kinds = forward.EntriesOf(v, to), nil, nil
	for _, n := range t.PrimaryKey().Columns {
		c := t.ColumnByNum(n)
		r.keys = append(r.keys, builtin.QuoteIdent(c.Name))
		r.kinds = append(r.kinds, types.FormatType(c.Type, -1))
	}
	return nil
}

// referring is a row that refers to a document by a former id.
type referring struct {
	key      []string // as text
	old, now string
}

// batch rewrites the next rows, and returns how many it has read.
func (r *rewriting) batch(ctx context.Context) (int, error) {
	var texts, order []string
	for _, k := range r.keys {
		texts, order = append(texts, "x."+k+"::text"), append(order, "x."+k)
	}
	where := ""
	if r.state.After != "" {
		where = " WHERE (" + strings.Join(order, ", ") + ") > (" + r.state.After + ")"
	}
	text := fmt.Sprintf("SELECT %s, %s FROM %s x%s ORDER BY %s LIMIT %d",
		strings.Join(texts, ", "), r.ref.value, r.ref.name, where, strings.Join(order, ", "), rewriteBatch)
	rows, err := r.query(ctx, text)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	list, err := r.former(ctx, rows)
	if err == nil && len(list) > 0 {
		err = r.put(ctx, list)
	}
	if err != nil {
		return 0, err
	}
	r.state.Looked += int64(len(rows))
	r.state.After = r.literal(keyTexts(rows[len(rows)-1], len(r.keys)))
	return len(rows), nil
}

func keyTexts(row []types.Datum, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = row[i].S
	}
	return out
}

// literal returns the values of a key in SQL.
func (r *rewriting) literal(key []string) string {
	out := make([]string, len(key))
	for i, k := range key {
		out[i] = builtin.QuoteLiteral(k) + "::" + r.kinds[i]
	}
	return strings.Join(out, ", ")
}

// former returns the rows that refer by former ids.
func (r *rewriting) former(ctx context.Context, rows [][]types.Datum) (list []referring, err error) {
	seen := map[string]bool{}
	var ids []string
	at := len(r.keys)
	for _, x := range rows {
		if !x[at].IsNull() && !seen[x[at].S] {
			seen[x[at].S] = true
			ids = append(ids, x[at].S)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	entries, err := r.query(ctx, "SELECT old, new FROM "+r.from+" WHERE old IN ("+stmt.Literals(ids)+")")
	now := map[string]string{}
	for _, e := range entries {
		now[e[0].S] = e[1].S
	}
	for _, x := range rows {
		if to, ok := now[x[at].S]; ok && !x[at].IsNull() {
			list = append(list, referring{keyTexts(x, at), x[at].S, to})
		}
	}
	return list, err
}

// put writes present ids into rows, in one transaction. If a row cannot be written, it writes each
// row in a transaction of its own.
func (r *rewriting) put(ctx context.Context, list []referring) error {
	var names, on, values []string
	for i, k := range r.keys {
		names = append(names, fmt.Sprintf("k%d", i))
		on = append(on, fmt.Sprintf("x.%s = m.k%d", k, i))
	}
	for _, x := range list {
		values = append(values, "("+r.literal(x.key)+", "+stmt.Literals([]string{x.old, x.now})+")")
	}
	text := fmt.Sprintf("UPDATE %s x SET %s FROM (VALUES %s) AS m(%s, o, n) WHERE %s AND %s = m.o RETURNING 1",
		r.ref.name, r.ref.set, strings.Join(values, ", "), strings.Join(names, ", "),
		strings.Join(on, " AND "), r.ref.value)
	rows, err := r.query(ctx, text)
	if err == nil {
		r.done += int64(len(rows))
	}
	switch {
	case err == nil || !strings.HasPrefix(pgerr.Code(err), "23"):
		return err
	case len(list) == 1:
		if r.state.Left++; r.some == "" {
			r.some = fmt.Sprintf("row (%s) still refers to %s: %s",
				strings.Join(list[0].key, ", "), list[0].old, pgerr.From(err).Message)
			r.state.Some = r.some
		}
		return nil
	}
	for i := range list {
		if err := r.put(ctx, list[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}
