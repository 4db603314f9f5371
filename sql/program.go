package sql

import (
	"context"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/recent"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// program is a query ready to run, shared by all sessions that analyse its text alike.
type program struct {
	stmt    parse.Statement
	query   *query.Query
	params  []types.OID
	columns []Column // nil where it returns no rows
	plan    *plan.Plan
	exec    *exec.Program
	version uint64        // of the definitions that it was analysed against
	tables  []tx.TableUse // that it reads and writes
	writes  bool
	defines bool // it is a call of a function that changes definitions, and nothing else
	late    bool // rows are locked as they are asked for
	cursor  bool // it is that of a cursor
	keys    []analyze.CursorKey
	// references are the foreign keys that it has to keep, nil: none.
	references *references
	hot        *hotProgram // what there is to do about split documents; nil: its tables have none
}

// programKey is what analysis depends on besides the definitions.
type programKey struct {
	database catalog.OID
	text     string
	params   string // declared parameter types
	ambient  string // what it depends on of the session's settings
}

// programCache keeps the programs of texts that come again.
type programCache = recent.Cache[programKey, *program]

// A program takes a hundred times what its text takes where that is a list of values.
const (
	programText  = 16 << 10 // of longer texts the programs are not kept
	programBytes = 512 << 10
)

// program gives the program of a query, cached or made now.
func (s *Session) program(ctx context.Context, stmt parse.Statement, params []types.OID) (p *program, err error) {
	err = s.db.knownNames(ctx, func() error {
		p, err = s.programNow(stmt, params)
		return err
	})
	return p, err
}

// programNow is program by the definitions that are known here.
func (s *Session) programNow(stmt parse.Statement, params []types.OID) (*program, error) {
	view := s.view()
	s.freshen()
	k := programKey{s.database, stmt.Text(), typeKey(params), s.derived.Analysis}
	if p, ok := s.db.programs.Get(k); ok && p.version == view.DefinitionVersion() && !s.drafted() {
		return p, nil
	}
	q, types, err := analyze.Statement(s.analysis(view, stmt.Source), stmt.Node, params)
	if err != nil {
		return nil, err
	}
	if err := checkPrivileges(view, s.database, s.role, q); err != nil {
		return nil, err
	}
	p, err := s.compile(view, q, types)
	if err != nil {
		return nil, err
	}
	p.stmt = stmt
	if !s.drafted() {
		s.db.services.Storages.ObserveUses(view, p.tables)
		if len(k.text) <= programText {
			s.db.programs.Put(k, len(k.text), p)
		}
	}
	return p, nil
}

// ofCursor gives the program of a cursor: its rows are locked as they are fetched, and have the keys of what UPDATE ... WHERE CURRENT OF may be about.
func (s *Session) ofCursor(p *program) (*program, error) {
	if p.query == nil || p.cursor {
		return p, nil
	}
	view := s.view()
	q, params, err := analyze.Statement(s.analysis(view, p.stmt.Source), p.stmt.Node, p.params)
	if err != nil {
		return nil, err
	}
	keys := analyze.CursorKeys(q)
	out, err := s.compileAs(view, q, params, true)
	if err != nil {
		return nil, err
	}
	out.stmt, out.cursor, out.keys = p.stmt, true, keys
	if len(keys) > 0 {
		out.columns = out.columns[:keys[0].First]
	}
	return out, nil
}

// lockingLate gives a program that locks rows as they are fetched, for a portal that is read in parts: what is not fetched is not locked, and nothing is
// locked in the background. One that locks none is given back.
func (s *Session) lockingLate(p *program) (*program, error) {
	if !p.locksRows() || p.late {
		return p, nil
	}
	view := s.view()
	q, params, err := analyze.Statement(s.analysis(view, p.stmt.Source), p.stmt.Node, p.params)
	if err != nil {
		return nil, err
	}
	late, err := s.compileAs(view, q, params, true)
	if err == nil {
		late.stmt = p.stmt
	}
	return late, err
}

// compile makes a program of a query that was analysed against view.
func (s *Session) compile(view *catalog.View, q *query.Query, params []types.OID) (*program, error) {
	return s.compileAs(view, q, params, false)
}

func (s *Session) compileAs(view *catalog.View, q *query.Query, params []types.OID, late bool) (*program, error) {
	if !s.byID {
		if err := forward.Statement(view, s.database, q, s.analyzed(view)); err != nil {
			return nil, err
		}
	}
	env, refs := planning(view, q)
	if s.byID {
		env.Watch, refs = nil, nil
	}
	env.LockLate = late
	pl, err := plan.Build(q, env)
	if err != nil {
		return nil, err
	}
	x, err := exec.Compile(pl)
	if err != nil {
		return nil, err
	}
	p := &program{
		query: q, params: params, columns: resultColumns(q), plan: pl, exec: x, version: view.DefinitionVersion(),
		tables: inOrder(append(tablesOf(q), referenceUses(view, q)...)), writes: len(writers(q)) > 0, defines: definesAlone(q), references: refs, late: late,
	}
	p.hot, err = s.hotProgram(view, q, p)
	return p, err
}

// analyzed analyses text in the system's name.
func (s *Session) analyzed(view *catalog.View) forward.Analyze {
	return func(text string, params ...types.OID) (*query.Query, error) {
		stmts, err := parse.Parse(text)
		if err != nil {
			return nil, err
		}
		q, _, err := analyze.Statement(s.analysis(view, text), stmts[0].Node, params)
		return q, err
	}
}

func typeKey(oids []types.OID) string {
	var b strings.Builder
	for _, o := range oids {
		b.WriteByte(byte(o))
		b.WriteByte(byte(o >> 8))
		b.WriteByte(byte(o >> 16))
		b.WriteByte(byte(o >> 24))
	}
	return b.String()
}

// resultColumns describes the rows that a client sees.
func resultColumns(q *query.Query) []Column {
	if q.Command != query.Select && !q.Returning {
		return nil
	}
	out := []Column{}
	for _, t := range q.Targets {
		if t.Hidden {
			continue
		}
		c := Column{Name: t.Name, Table: t.OriginTable, AttNum: t.OriginCol, Type: t.Expr.Type(), Typmod: t.Expr.Typmod(), Len: -1}
		if ty := pgcatalog.TypeByOID(c.Type); ty != nil {
			c.Len = ty.Len
		}
		out = append(out, c)
	}
	return out
}

// eachQuery calls f for q and every query within it.
func eachQuery(q *query.Query, f func(*query.Query)) {
	if q == nil {
		return
	}
	f(q)
	nested := func(e query.Expr, _ int) {
		if s, ok := e.(*query.SubLink); ok {
			f(s.Query)
		}
	}
	query.WalkQuery(q, nested)
	eachNested(q, f)
}

func eachNested(q *query.Query, f func(*query.Query)) {
	for _, c := range q.CTEs {
		eachQuery(c.Query, f)
	}
	for _, r := range q.Rels {
		eachQuery(r.Subquery, f)
	}
	if q.SetOp != nil {
		eachQuery(q.SetOp.Left, f)
		eachQuery(q.SetOp.Right, f)
	}
	eachQuery(q.Source, f)
}
