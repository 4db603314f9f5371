package sql

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
)

// hottestFields is how many fields of a bucket are listed.
const hottestFields = 5

// hotFacts is what the views about hot and obese buckets ask the session.
func (s *Session) hotFacts() sysview.Hot {
	return sysview.Hot{
		Split:    func(t *catalog.Table) (map[int32]bool, error) { return s.splitNow(s.running, s.view(), t) },
		Counters: s.splittable,
		Fields: func(t *catalog.Table, from, to uint32) []string {
			return s.fieldsOf(t, shardmap.Interval{Lo: from, Hi: to}, namedFields, hottestFields)
		},
		SomeID:  s.someID,
		Spreads: func(t *catalog.Table, bucket uint32) (bool, error) { return spreads(s, t, bucket) },
	}
}

// splittable returns the counters to name when a document is split: those to which the sampled statements that reach its bucket add, none if the table declares counters.
// An error says why the document cannot be split.
func (s *Session) splittable(t *catalog.Table, id string, bucket uint32) (names []string, err error) {
	if t.Options[ddl.OptionCounters] == "" {
		names = s.fieldsOf(t, shardmap.OneBucket(shardmap.Bucket(bucket)), addedFields, maxCounters)
	}
	x := splitting{Session: s, ctx: s.running, table: t.Clone()}
	if err := x.begin(id); err != nil {
		return nil, err
	}
	return names, x.declare(names)
}

// fieldsOf returns the fields of a table that the sampled statements which reach buckets name, as a function finds them, most often named first.
func (s *Session) fieldsOf(t *catalog.Table, v shardmap.Interval, find func(*query.Query, *catalog.Table) []catalog.Counter, most int) []string {
	count := map[string]int{}
	for _, x := range s.db.samples.Of(s.database, t.OID) {
		if !s.reaches(x, t, v) {
			continue
		}
		for _, f := range find(x.Program.Query, t) {
			count[fieldName(t, f)]++
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	return names[:min(len(names), most)]
}

// fieldName spells a column, or a path into the document, as the options of a table do.
func fieldName(t *catalog.Table, f catalog.Counter) string {
	path := f.Path
	if len(path) == 0 {
		path = []string{t.ColumnByNum(f.Column).Name}
	}
	return shardmap.Field{Path: path}.PathString()
}

// reaches reports whether a sampled statement reads or writes rows of a table in some buckets. One whose routes are not known may.
func (s *Session) reaches(x stmt.Sample, t *catalog.Table, v shardmap.Interval) bool {
	outer := s.running
	defer func() { s.running = outer }()
	c := s.execution(outer, x.Args)
	found, routes := false, 0
	plan.Explain(x.Program.Plan, plan.Notes{Route: func(r *plan.Route) string {
		if r.Table == nil || r.Table.OID != t.OID {
			return ""
		}
		routes++
		set, known, err := exec.RouteBuckets(c, r)
		found = found || err != nil || !known || !set.Intersect(shardmap.NewBucketSet(v)).IsEmpty()
		return ""
	}})
	return found || routes == 0
}

// namedFields lists the columns that are no part of the key, and the paths into the document, that a statement reads or writes.
func namedFields(q *query.Query, t *catalog.Table) []catalog.Counter {
	var out []catalog.Counter
	add := func(base query.Expr, path []string) {
		if f, ok := fieldAt(q, t, base, path); ok && !slices.ContainsFunc(out, f.Equal) {
			out = append(out, f)
		}
	}
	said := *q
	said.Checks, said.Indexes = nil, nil // the statement does not name these
	query.WalkQuery(&said, func(e query.Expr, depth int) {
		if depth > 0 {
			return
		}
		switch n := e.(type) {
		case *query.Var:
			add(n, nil)
		case *query.Subscript:
			if n.Assign != nil && !n.Slice {
				add(n.Base, constants(n.Upper))
			}
		case *query.Call:
			if n.Proc.Name == "jsonb_set" && len(n.Args) > 2 {
				add(n.Args[0], constantPath(n.Args[1]))
			}
		}
		if path, _, base := plan.DocumentPath(e); base != nil {
			add(base, path)
		}
	})
	for _, a := range q.Assign {
		if q.Command == query.Update {
			add(&query.Var{Rel: q.Result, Col: a.Col}, nil)
		}
	}
	all := slices.Clone(out)
	return slices.DeleteFunc(out, func(f catalog.Counter) bool { // doc->'a'->>'b' is one field
		return slices.ContainsFunc(all, func(o catalog.Counter) bool {
			return f.Column == o.Column && len(f.Path) < len(o.Path) && slices.Equal(f.Path, o.Path[:len(f.Path)])
		})
	})
}

// fieldAt returns the field of a table at a path of a column; ok is false for keys, whole documents, and columns of other relations.
func fieldAt(q *query.Query, t *catalog.Table, base query.Expr, path []string) (f catalog.Counter, ok bool) {
	v, isVar := base.(*query.Var)
	if !isVar || v.Up != 0 || v.Col < 0 || v.Rel < 0 || v.Rel >= len(q.Rels) || v.Col >= len(t.Columns) {
		return f, false
	}
	of, c := q.Rels[v.Rel].Table, &t.Columns[v.Col]
	if of == nil || of.OID != t.OID || c.Dropped || (c.AttNum == t.Document) != (len(path) > 0) {
		return f, false
	}
	if pk := t.PrimaryKey(); pk != nil && slices.Contains(pk.Columns, c.AttNum) {
		return f, false
	}
	return catalog.Counter{Column: c.AttNum, Path: path}, true
}

// addedFields lists the counters to which an UPDATE does nothing but add.
func addedFields(q *query.Query, t *catalog.Table) (out []catalog.Counter) {
	if q.Command != query.Update || q.Rels[q.Result].Table == nil || q.Rels[q.Result].Table.OID != t.OID {
		return nil
	}
	def := t.Clone()
	def.Hot = &catalog.Hot{Counters: namedFields(q, t)}
	m := matcher{def: def, rel: q.Result}
	for _, a := range m.assignments(q.Assign) {
		out = append(out, def.Hot.Counters[a.counter])
	}
	return out
}

// someID returns the id of a document of a collection in the buckets [from, to).
func (s *Session) someID(t *catalog.Table, from, to uint32) (id string, err error) {
	key := keyColumn(t)
	name := builtin.QuoteIdent(key.Name)
	text := fmt.Sprintf("%s WHERE sherd.slice(%s) >= %d AND sherd.slice(%s) < %d LIMIT 1", ddl.SelectColumns(s.view(), t, []int{int(key.AttNum) - 1}), name, from, name, to)
	err = s.queryAgainst(orBackground(s.running), s.view(), text, func(row []types.Datum) error {
		id = row[0].S
		return nil
	})
	return id, err
}

// Documents that spreads looks at, and how many that would get other ids are enough for its answer.
const (
	spreadLook   = 100_000
	spreadEnough = 1000
)

// errSeenEnough ends a query whose other rows are not needed.
var errSeenEnough = errors.New("sql: enough rows were seen")

// spreads reports whether a job that spreads the documents of a collection would change the ids of
// many documents of a bucket: one in ten, or spreadEnough. After the job has run, none are left but
// those that it could not change.
//
// It stops at spreadEnough. In a bucket that is too large although the Range is wide enough, at most
// half of the bytes are of documents that were inserted under this Range, so it seldom reads more
// than that half. It does not know the buckets of rules for prefixes, which sherd.slice cannot find.
func spreads(s *Session, t *catalog.Table, bucket uint32) (bool, error) {
	if bucket >= shardmap.BucketCount || !s.view().Knows(catalog.ReplacementSince) || ddl.CanForward(t) != nil {
		return false, nil
	}
	p, err := exec.NewPlacement(t)
	if err != nil {
		return false, err
	}
	columns, row := p.Columns(), make(types.Row, len(t.Columns))
	key := builtin.QuoteIdent(keyColumn(t).Name)
	text := fmt.Sprintf("%s WHERE sherd.slice(%s) >= %d AND sherd.slice(%s) < %d LIMIT %d",
		ddl.SelectColumns(s.view(), t, columns), key, bucket, key, bucket+1, spreadLook)
	looked, others := 0, 0
	err = s.queryAgainst(orBackground(s.running), s.view(), text, func(got []types.Datum) error {
		for i, at := range columns {
			row[at] = got[i]
		}
		_, at, err := p.Check(row)
		if uint32(at) != bucket {
			return nil // a rule for its prefix sends it elsewhere
		}
		looked++
		if _, none := p.Replaced(row); none == nil && (err != nil || !p.Spread(row, at)) {
			if others++; others == spreadEnough {
				return errSeenEnough
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errSeenEnough) {
		return false, err
	}
	return others > 0 && (others == spreadEnough || 10*others >= looked), nil
}
