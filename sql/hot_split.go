package sql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Bounds of what may be split.
const (
	maxParts        = 1024           // of a document
	maxHotDocuments = 64             // of a table
	maxCounters     = 32             // of a table
	joinedFor       = 48 * time.Hour // documents that are whole again are remembered: longer than any snapshot lasts
)

// HotSplit implements builtin.HotInfo.
func (i info) HotSplit(table uint32, id string, parts int, counters []string) (int, error) {
	const function = "hot_split"
	t, err := i.hotTable(function, table, id)
	if err != nil {
		return 0, err
	}
	if parts < 2 || parts > maxParts {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "a document can be split into 2 to %d parts, not %d", maxParts, parts)
	}
	return parts, i.redefining(t, func(ctx context.Context, t *catalog.Table) error {
		s := splitting{Session: i.Session, ctx: ctx, table: t.Clone()}
		if err := s.begin(id); err != nil {
			return err
		}
		if err := s.declare(counters); err != nil {
			return err
		}
		return s.split(parts)
	})
}

// HotJoin implements builtin.HotInfo.
func (i info) HotJoin(table uint32, id string) error {
	t, err := i.hotTable("hot_join", table, id)
	if err != nil {
		return err
	}
	return i.redefining(t, func(ctx context.Context, t *catalog.Table) error {
		s := splitting{Session: i.Session, ctx: ctx, table: t.Clone()}
		if err := s.begin(id); err != nil {
			return err
		}
		return s.join()
	})
}

// hotTable finds the table of a document: the one that is named, or for 0 that of the id's collection. The role must own it.
func (i info) hotTable(function string, oid uint32, id string) (*catalog.Table, error) {
	view := i.view()
	t := view.Table(oid)
	if name, _, ok := strings.Cut(id, "/"); oid == 0 && ok {
		for _, schema := range i.existingPath(view) {
			if t == nil {
				t = view.FindTable(i.database, schema, name)
			}
		}
	}
	if t == nil || t.Kind != catalog.KindTable || t.Database != i.database {
		if oid == 0 {
			return nil, pgerr.New(pgerr.UndefinedTable, `no table is named like the collection of "%s"`, id).
				WithHint("Name the table too: sherd.%s('counters', '%s', …).", function, id)
		}
		return nil, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
	}
	name := "sherd." + function + "()"
	if i.tx != nil && (i.tx.explicit || i.tx.together) {
		return nil, pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", name)
	}
	if err := i.mayDefine(name, t.OID); err != nil {
		return nil, err
	}
	if me := view.Role(i.role); me == nil || !ddl.Owns(view, i.database, me, t.Owner) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
	}
	return t, nil
}

// redefining runs what changes which documents of a table are split, with the table to itself: all others plan anew afterwards.
func (i info) redefining(t *catalog.Table, f func(ctx context.Context, t *catalog.Table) error) (err error) {
	if err := i.notInUse("change which documents are split of", []catalog.OID{t.OID}); err != nil {
		return err
	}
	if err := i.lockTables(i.ctx, []catalog.OID{t.OID}); err != nil {
		return err
	}
	tx, draft := i.tx, i.tx.draft
	defer func() {
		if err != nil {
			tx.draft = draft // the statement may be run again
		}
	}()
	if err := tx.parts.Bound(exec.ScopeCluster); err != nil {
		return err
	}
	now := i.view().Table(t.OID)
	if now == nil {
		return pgerr.New(pgerr.UndefinedTable, `relation "%s" does not exist`, t.Name)
	}
	return f(i.ctx, now)
}

// splitting is one call of hot_split or hot_join, which has the table to itself.
type splitting struct {
	*Session
	ctx   context.Context
	table *catalog.Table // as it is going to be
	key   types.Datum
	code  []byte // the encoded key
	id    string // its text form
	which []int32
}

// begin reads the key of the document and forgets documents that have been whole for long.
func (s *splitting) begin(id string) error {
	pk := s.table.PrimaryKey()
	if pk == nil || len(pk.Columns) != 1 {
		return pgerr.Unsupported(`documents of table "%s" cannot be split: its primary key is not one column`, s.table.Name)
	}
	switch col := keyColumn(s.table); col.Type {
	case types.Text, types.VarChar, types.Int2, types.Int4, types.Int8, types.UUID:
	default:
		return pgerr.Unsupported(`documents of table "%s" cannot be split: its primary key is of type %s`, s.table.Name, types.TypeName(col.Type))
	}
	var err error
	if s.key, err = types.Input(keyColumn(s.table).Type, -1, id, s.Env()); err != nil {
		return err
	}
	s.id = types.Output(keyColumn(s.table).Type, s.key, s.Env())
	if s.code, err = exec.EncodedKey(s.table, exec.Row{s.key}); err != nil {
		return err
	}
	if h := s.table.Hot; h != nil {
		old := time.Now().Add(-joinedFor).UnixMicro()
		h.Documents = slices.DeleteFunc(h.Documents, func(d catalog.HotDocument) bool { return d.Joined != 0 && d.Joined < old })
	}
	return nil
}

// declare finds the counters that the document shall have: those named, else those that the table's options name.
func (s *splitting) declare(names []string) error {
	t := s.table
	text := strings.Join(names, ", ")
	if text == "" {
		text = t.Options[ddl.OptionCounters]
	}
	if text == "" {
		return pgerr.New(pgerr.InvalidParameterValue, `no counters of table "%s" are declared`, t.Name).
			WithHint("ALTER TABLE %s SET (counters = 'Likes, Views') declares them for all of its documents, or name them: sherd.hot_split('%s', '%s', 16, ARRAY['Likes']).",
				t.Name, t.Name, s.id)
	}
	if t.Hot == nil {
		t.Hot = &catalog.Hot{Next: 1}
	}
	list, err := ddl.Counters(t, text)
	if err != nil {
		return err
	}
	uses, err := s.uses()
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := s.allowed(c, uses); err != nil {
			return err
		}
		at := slices.IndexFunc(t.Hot.Counters, c.Equal)
		if at < 0 {
			at = len(t.Hot.Counters)
			t.Hot.Counters = append(t.Hot.Counters, c)
		}
		s.which = append(s.which, int32(at))
	}
	if len(t.Hot.Counters) > maxCounters {
		return pgerr.New(pgerr.ProgramLimitExceeded, `table "%s" has more than %d counters`, t.Name, maxCounters)
	}
	return nil
}

// counterUse is something of a table that looks at its columns.
type counterUse struct {
	what string
	expr query.Expr
}

// uses lists the expressions of a table's constraints, generated columns and indexes.
func (s *splitting) uses() ([]counterUse, error) {
	name := builtin.QuoteIdent(keyColumn(s.table).Name)
	view := s.view()
	q, err := hiddenQuery(view, s.table, fmt.Sprintf("UPDATE %s SET %s = %s", quotedName(view, s.table), name, name), nil)
	if err != nil {
		return nil, err
	}
	var out []counterUse
	for _, c := range q.Checks {
		what := `constraint "` + c.Name + `"`
		if c.Generated >= 0 {
			what = `generated column "` + s.table.Columns[c.Generated].Name + `"`
		}
		out = append(out, counterUse{what, c.Expr})
	}
	for _, x := range q.Indexes {
		what := `index "` + x.Def.Name + `"`
		for _, k := range x.Keys {
			out = append(out, counterUse{what, k})
		}
		if x.Where != nil {
			out = append(out, counterUse{what, x.Where})
		}
		for _, n := range x.Def.Include {
			out = append(out, counterUse{what, &query.Var{Col: int(n) - 1}})
		}
	}
	return out, nil
}

// allowed refuses a counter on whose value something hangs that is kept with the row: the row does not say the value while it is split.
func (s *splitting) allowed(c catalog.Counter, uses []counterUse) error {
	t := s.table
	refuse := func(what string) error {
		return pgerr.Unsupported(`counter "%s" of table "%s" cannot be split: %s uses it`, c.Name(t), t.Name, what).
			WithHint("What is split must be added to without looking at the sum.")
	}
	for _, k := range t.Constraints {
		if slices.Contains(k.Columns, c.Column) && (len(c.Path) == 0 || k.Kind != catalog.Check) {
			return refuse(`constraint "` + k.Name + `"`)
		}
	}
	for _, u := range uses {
		if usesCounter(u.expr, c) {
			return refuse(u.what)
		}
	}
	if t.Policy != nil {
		for _, f := range t.Policy.Fields {
			if x, ok := ddl.CounterOf(t, f); ok && x.Column == c.Column && overlap(x.Path, c.Path) {
				return refuse("the sharding policy")
			}
		}
	}
	for _, o := range t.Hot.Counters {
		if o.Column == c.Column && !o.Equal(c) && overlap(o.Path, c.Path) {
			return refuse(`counter "` + o.Name(t) + `"`)
		}
	}
	return nil
}

// overlap tells whether one path begins with the other.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// usesCounter tells whether an expression may look at a counter. Of a document it looks elsewhere if it takes another field out first.
func usesCounter(e query.Expr, c catalog.Counter) bool {
	column := int(c.Column) - 1
	isColumn := func(e query.Expr) bool {
		v, ok := e.(*query.Var)
		return ok && (v.Col == column || v.Col == query.ColWholeRow)
	}
	elsewhere := func(step []string) bool { return len(step) > 0 && len(c.Path) > 0 && step[0] != c.Path[0] }
	found := false
	query.Walk(e, func(x query.Expr) bool {
		switch n := x.(type) {
		case *query.Call:
			if len(n.Args) == 2 && isColumn(n.Args[0]) {
				switch n.Op {
				case "->", "->>":
					return !elsewhere(constants(n.Args[1:]))
				case "#>", "#>>":
					return !elsewhere(constantPath(n.Args[1]))
				}
			}
		case *query.Subscript:
			if isColumn(n.Base) && n.Assign == nil && !n.Slice {
				return !elsewhere(constants(n.Upper))
			}
		}
		found = found || isColumn(x)
		return true
	})
	return found
}

// split makes the document's parts.
func (s *splitting) split(n int) error {
	h := s.table.Hot
	if old := h.DocumentAt(s.code); old != nil {
		there, err := s.hasParts(old)
		if err != nil {
			return err
		}
		if there {
			return pgerr.New(pgerr.DuplicateObject, `document "%s" of table "%s" is split already`, s.id, s.table.Name).
				WithHint("sherd.hot_join('%s', '%s') makes it whole.", s.table.Name, s.id)
		}
		old.Joined = time.Now().UnixMicro() // it was deleted, and made again
	}
	if active := slices.Collect(func(yield func(int32) bool) {
		for _, d := range h.Documents {
			if d.Joined == 0 && !yield(d.Number) {
				return
			}
		}
	}); len(active) >= maxHotDocuments {
		return pgerr.New(pgerr.ProgramLimitExceeded, `table "%s" has %d split documents, and cannot have more`, s.table.Name, maxHotDocuments)
	}
	h.Documents = append(h.Documents, catalog.HotDocument{
		Number: h.Next, ID: s.id, Key: s.code, Parts: partsOf(h.Next, n), Counters: s.which, Since: time.Now().UnixMicro(), Who: info{Session: s.Session}.roleName(),
	})
	h.Next++
	if err := s.define(); err != nil {
		return err
	}
	return s.fill(&h.Documents[len(h.Documents)-1])
}

// partsOf gives keys for the parts of a document, so that each lies in a stretch of its own of the buckets: however they are spread over the fragments,
// so are the parts.
func partsOf(number int32, n int) []int64 {
	out := make([]int64, n)
	for left, k := n, catalog.FirstPart(number); left > 0; k++ {
		at := int(uint64(shardmap.HashBucket(strconv.FormatInt(k, 10))) * uint64(n) / shardmap.BucketCount)
		if out[at] == 0 {
			out[at] = k
			left--
		}
	}
	return out
}

// hasParts tells whether there are parts of a document.
func (s *splitting) hasParts(d *catalog.HotDocument) (found bool, err error) {
	view := s.view()
	text := fmt.Sprintf("SELECT 1 FROM %s WHERE k = ANY($1)", quotedName(view, view.Table(s.table.Hot.Parts)))
	_, err = s.runHidden(s.ctx, view, s.table, text, []types.OID{types.Int8Array}, []types.Datum{partKeys(d)}, func([]types.Datum) error {
		found = true
		return nil
	})
	return found, err
}

// define puts the table as it is going to be, and its table of parts, into the transaction's change of definitions.
func (s *splitting) define() error {
	var oid, constraint catalog.OID
	if s.table.Hot.Parts == 0 {
		var err error
		if oid, err = s.db.cfg.Catalog.NewOID(s.ctx); err == nil {
			constraint, err = s.db.cfg.Catalog.NewOID(s.ctx)
		}
		if err != nil {
			return err
		}
		s.table.Hot.Parts = oid
	}
	return s.tx.change(s.ctx, func(v *catalog.View, ch *catalog.Change) error {
		parts := catalog.NewPartsTable(s.table, s.table.Hot.Parts, constraint)
		if oid == 0 {
			parts = v.Table(s.table.Hot.Parts).Clone()
		}
		before := len(parts.Columns)
		for len(parts.Columns) < catalog.AddedColumn(len(s.table.Hot.Counters)) {
			parts.AddCounter()
		}
		if oid != 0 || len(parts.Columns) > before {
			if err := ch.PutTable(parts); err != nil {
				return err
			}
		}
		return ch.PutTable(s.table)
	})
}

// fill writes the document's parts. Its own row is written as it is, so that no transaction writes it that has seen the document before it was split.
func (s *splitting) fill(d *catalog.HotDocument) error {
	view := s.view()
	f := &fold{view: view, table: view.Table(s.table.OID), parts: view.Table(s.table.Hot.Parts)}
	bases, there, err := s.bases(s.ctx, f, d)
	if err != nil {
		return err
	}
	if !there {
		return pgerr.New(pgerr.UndefinedObject, `document "%s" does not exist in table "%s"`, s.id, s.table.Name)
	}
	if err := s.addToDocument(s.ctx, f, d, noSums(f.table)); err != nil {
		return err
	}
	columns, values := "k, d", "$1, $2"
	params, args := []types.OID{types.Int8, types.Int8}, []types.Datum{types.Null, types.NewInt(int64(d.Number))}
	for _, n := range d.Counters {
		params, args = append(params, types.Numeric), append(args, bases[n])
		columns += fmt.Sprintf(", c%d, b%d", n, n)
		values += fmt.Sprintf(", 0, $%d", len(args))
	}
	p, err := hiddenProgram(view, f.table, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", quotedName(view, f.parts), columns, values), params)
	if err != nil {
		return err
	}
	for _, k := range d.Parts {
		args[0] = types.NewInt(k)
		if _, err := s.runHiddenProgram(s.ctx, p, args, nil); err != nil {
			return err
		}
	}
	return nil
}

func noSums(t *catalog.Table) []types.Datum {
	out := make([]types.Datum, len(t.Hot.Counters))
	for i := range out {
		out[i] = types.NumericFromInt(0)
	}
	return out
}

// join puts the parts into the document and deletes them.
func (s *splitting) join() error {
	var d *catalog.HotDocument
	if s.table.Hot != nil {
		d = s.table.Hot.DocumentAt(s.code)
	}
	if d == nil {
		return pgerr.New(pgerr.UndefinedObject, `document "%s" of table "%s" is not split`, s.id, s.table.Name)
	}
	view := s.view()
	f := &fold{view: view, table: view.Table(s.table.OID), parts: view.Table(s.table.Hot.Parts)}
	sums, _, err := s.lockParts(s.ctx, f, []*catalog.HotDocument{d})
	if err != nil {
		return err
	}
	if sum := sums[d.Number]; sum != nil {
		if err := s.addToDocument(s.ctx, f, d, sum); err != nil {
			return err
		}
		text := fmt.Sprintf("DELETE FROM %s WHERE k = ANY($1)", quotedName(view, f.parts))
		if _, err := s.runHidden(s.ctx, view, f.table, text, []types.OID{types.Int8Array}, []types.Datum{partKeys(d)}, nil); err != nil {
			return err
		}
	}
	d.Joined = cmp.Or(time.Now().UnixMicro(), 1)
	return s.tx.change(s.ctx, func(_ *catalog.View, ch *catalog.Change) error { return ch.PutTable(s.table) })
}
