package stmt

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/batch"
	"github.com/sherddb/sherd/sql/plan/runtimefilter"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/rowsecurity"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn/locks"
)

// Compiler compiles the statements of one client, or of the system. It is not safe for concurrent use.
type Compiler struct {
	Database catalog.OID
	Role     catalog.OID       // whose privileges are checked
	Path     []string          // search_path; schemas that do not exist are left out
	Values   func() *types.Env // by which literals are read
	// Ambient is what analysis depends on of the settings: clients that have the same share programs.
	Ambient string
	// PlanCache says when statements with parameters are planned for their arguments.
	PlanCache PlanCacheMode
	Off       plan.Methods // that the client has switched off
	// RowSecurityOff is row_security = off: statements that row security would change are refused.
	RowSecurityOff bool

	// Transitions are the transition tables that statements of a trigger function may read, by name.
	Transitions map[string][]query.Column

	ByID bool // former ids of documents do not lead to them, and nothing follows from rows that are written

	View        *catalog.View // that statements are analyzed against
	Uncommitted bool          // View may never come into force: nothing that is made for it is kept

	Cache     *Cache
	Temporary *tx.Temporary // objects of the client; nil: it has none
	Storages  *tx.Storages  // observe the tables of new programs
	Hooks     Hooks
}

// Hooks attach to programs what they need beyond their plans.
type Hooks struct {
	// Integrity adds to env which keys are noted while a statement writes. It returns what follows from them, nil:
	// nothing; and the locks on tables that this may need.
	Integrity func(view *catalog.View, q *query.Query, env *plan.Env) (any, []tx.TableUse)
	// Split returns what has to be done about split documents when a program runs; nil: nothing.
	Split func(r Replan) (Step, error)
}

// Replan is a program that was just compiled, and may be planned in another form too.
type Replan struct {
	View    *catalog.View
	Program *Program
	env     plan.Env
}

// As compiles the program's query again, with something changed in what it is planned with.
func (r Replan) As(change func(env *plan.Env)) (*Program, error) {
	env, p := r.env, *r.Program
	change(&env)
	var err error
	if p.Plan, err = makePlan(r.View, p.Query, env); err != nil {
		return nil, err
	}
	p.Exec, err = exec.Compile(p.Plan)
	return &p, err
}

// Against returns a compiler whose statements are analyzed against definitions that may never come into force.
func (c *Compiler) Against(view *catalog.View) *Compiler {
	out := *c
	out.View, out.Uncommitted = view, true
	return &out
}

// Program returns the program of a query: from the cache, or compiled now. It checks privileges.
func (c *Compiler) Program(st parse.Statement, params []types.OID) (*Program, error) {
	k := key{c.Database, st.Text(), TypesKey(params), c.Ambient, c.ByID, c.Off, c.Role}
	if p, ok := c.Cache.programs.Get(k); ok && !c.Uncommitted && c.serves(p) {
		return p, nil
	}
	st, err := st.Parsed()
	if err != nil {
		return nil, err
	}
	q, params, err := c.analyze(st.Source, st, params)
	if err != nil {
		return nil, err
	}
	if err := c.checkPrivileges(q); err != nil {
		return nil, err
	}
	p, err := c.Compile(q, params)
	if err != nil {
		return nil, err
	}
	p.Statement = st
	if c.Uncommitted {
		return p, nil
	}
	c.Storages.ObserveUses(c.View, p.Tables)
	if len(k.text) <= programText {
		c.Cache.programs.Put(k, len(k.text), p)
	}
	return p, nil
}

// ForCursor returns the program of a cursor: its rows are locked when they are fetched, and have the keys that UPDATE
// ... WHERE CURRENT OF may need.
func (c *Compiler) ForCursor(p *Program) (*Program, error) {
	if p.Query == nil || p.Cursor {
		return p, nil
	}
	q, params, err := c.again(p)
	if err != nil {
		return nil, err
	}
	keys := analyze.CursorKeys(q)
	out, err := c.compile(q, params, true)
	if err != nil {
		return nil, err
	}
	out.Statement, out.analysis, out.Cursor, out.Keys = p.Statement, p.analysis, true, keys
	if len(keys) > 0 {
		out.Columns = out.Columns[:keys[0].First]
	}
	return out, nil
}

// LockingLate returns a program that locks rows when they are fetched, for a portal that is read in parts: rows that
// are not fetched are not locked, and nothing is locked in the background. A program that locks no rows is returned
// as it is.
func (c *Compiler) LockingLate(p *Program) (*Program, error) {
	if !p.LocksRows() || p.Late {
		return p, nil
	}
	q, params, err := c.again(p)
	if err != nil {
		return nil, err
	}
	late, err := c.compile(q, params, true)
	if err == nil {
		late.Statement, late.analysis = p.Statement, p.analysis
	}
	return late, err
}

// ForCopy compiles an INSERT whose parameters are the columns of rows that COPY reads. where is their
// condition, over the columns as Var{Rel: 0}; nil: there is none.
func (c *Compiler) ForCopy(text string, columns []plan.Col, where query.Expr) (*Program, error) {
	params := make([]types.OID, len(columns))
	for i, col := range columns {
		params[i] = col.Type
	}
	q, err := c.Query(text, params...)
	if err != nil {
		return nil, err
	}
	if err := c.checkPrivileges(q); err != nil {
		return nil, err
	}
	if guarded(q) {
		return nil, pgerr.Unsupported("COPY FROM not supported with row-level security").
			WithHint("Use INSERT statements instead.")
	}
	p := &Program{Query: q, Writes: true}
	env := environment(c.View)
	p.Integrity, _ = c.integrity(q, &env)
	if p.Plan, err = plan.BuildCopy(q, columns, where, env); err != nil {
		return nil, err
	}
	p.Exec, err = exec.Compile(p.Plan)
	return p, err
}

// ForRefresh compiles what fills a materialized view with the rows of its query, and what deletes its rows. The
// privileges of its owner count.
func (c *Compiler) ForRefresh(t *catalog.Table) (fill, empty *Program, err error) {
	own := *c
	own.Role = t.Owner
	for _, x := range []struct {
		analyze func(*analyze.Context, *catalog.Table) (*query.Query, error)
		program **Program
	}{{analyze.Filling, &fill}, {analyze.Emptying, &empty}} {
		q, err := x.analyze(own.Analysis(""), t)
		if err != nil {
			return nil, nil, err
		}
		if q.Source != nil {
			if err := own.checkPrivileges(q.Source); err != nil {
				return nil, nil, err
			}
			if err := rowsecurity.Apply(own.Analysis(""), q.Source, own.Role, own.RowSecurityOff); err != nil {
				return nil, nil, err
			}
		}
		if *x.program, err = own.Compile(q, nil); err != nil {
			return nil, nil, err
		}
	}
	return fill, empty, nil
}

// unpopulated returns the error of a program that reads a materialized view without rows; nil: it reads none.
func unpopulated(view *catalog.View, p *Program) error {
	for _, u := range p.Tables {
		t := view.Table(u.Table)
		if t == nil || !t.IsMaterialized() || t.View.Populated || u.Mode != locks.AccessShare {
			continue
		}
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "materialized view %q has not been populated", t.Name).
			WithHint("Use the REFRESH MATERIALIZED VIEW command.")
	}
	return nil
}

// Query analyzes a text of one statement.
func (c *Compiler) Query(text string, params ...types.OID) (*query.Query, error) {
	stmts, err := parse.Parse(text)
	if err != nil {
		return nil, err
	}
	q, _, err := c.analyze(text, stmts[0], params)
	return q, err
}

// Compile makes a program of a query that was analyzed against the compiler's view. It checks no privileges.
func (c *Compiler) Compile(q *query.Query, params []types.OID) (*Program, error) {
	return c.compile(q, params, false)
}

func (c *Compiler) compile(q *query.Query, params []types.OID, late bool) (*Program, error) {
	if !c.ByID {
		if err := forward.Statement(c.View, c.Database, q, c.AsSystem().Query); err != nil {
			return nil, err
		}
	}
	env, known := environment(c.View), &plannedFor{}
	env.Off, env.Statistics, env.Together = c.Off, known.observed(c.statistics()), c.together
	p := &Program{
		Query: q, Params: params, Columns: resultColumns(c.View, q), Version: c.View.DefinitionVersion(), Role: c.Role,
		Writes: len(Writers(q)) > 0, Defines: definesAlone(q), Late: late,
		Calls:   calledRoutines(q),
		planned: known, guarded: guarded(q),
	}
	if len(params) > 0 {
		p.custom = &customPlans{}
	}
	var uses []tx.TableUse
	p.Integrity, uses = c.integrity(q, &env)
	p.Tables = tx.InOrder(append(tablesOf(q), uses...))
	env.LockLate = late
	err := c.plan(p, env)
	if err == nil && p.Plan.Failing == nil {
		p.Plan.Failing = unpopulated(c.View, p)
	}
	if err == nil && p.custom != nil {
		p.custom.alike = newAlike(p)
	}
	return p, err
}

// statistics returns what is known of the tables of the compiler's view; nil: nothing.
func (c *Compiler) statistics() func(*catalog.Table) *statistics.Table {
	known, view, temporary := c.Cache.Statistics, c.View, c.Temporary
	if known == nil {
		return nil
	}
	return func(t *catalog.Table) *statistics.Table {
		k := known(view, t)
		if size, ok := temporary.Size(t.StorageID); ok {
			k = k.Sized(float64(size.Rows), float64(size.Bytes))
		}
		return k
	}
}

// together returns the expressions of a table's statistics objects.
func (c *Compiler) together(t *catalog.Table) []query.StatisticsExpression {
	return analyze.StatisticsExpressions(c.Analysis(""), t)
}

// makePlan plans a query.
func makePlan(view *catalog.View, q *query.Query, env plan.Env) (*plan.Plan, error) {
	p, err := plan.Build(q, env)
	if err == nil && !env.Off.Batch && view.Knows(catalog.BatchedReadsSince) {
		batch.Plan(p)
	}
	if err == nil && !env.Off.RuntimeFilter && env.RuntimeFilters {
		runtimefilter.Plan(p)
	}
	return p, err
}

// environment returns what plans under a catalog may use.
func environment(view *catalog.View) plan.Env {
	return plan.Env{
		Fold:           expr.EvalConst,
		OrderedIndexes: view.Knows(catalog.OrderedIndexesSince),
		RuntimeFilters: view.Knows(catalog.RuntimeFiltersSince),
	}
}

func (c *Compiler) integrity(q *query.Query, env *plan.Env) (any, []tx.TableUse) {
	if c.Hooks.Integrity == nil {
		return nil, nil
	}
	step, uses := c.Hooks.Integrity(c.View, q, env)
	if c.ByID {
		env.Watch, env.Triggers, step = nil, nil, nil
	}
	return step, uses
}

// Analysis returns the context in which the text of a statement is analyzed.
func (c *Compiler) Analysis(source string) *analyze.Context {
	out := &analyze.Context{
		Catalog: c.View, Source: source, Database: c.Database, SearchPath: c.SearchPath(), Env: c.Values(),
		User: c.Role,
	}
	if !c.Uncommitted {
		out.Tables = c.Cache.tables
	}
	out.Bodies = out
	if c.Transitions != nil { // the functions that a statement calls do not see them
		bodies := *out
		bodies.Bodies, out.Bodies, out.Transitions = &bodies, &bodies, c.Transitions
	}
	return out
}

func (c *Compiler) analyze(source string, st parse.Statement, params []types.OID) (*query.Query, []types.OID, error) {
	x := c.Analysis(source)
	return c.secured(analyze.Statement(x, st.Node, params))
}

// secured returns an analyzed query with the row policies of its tables, if it is one of the client.
func (c *Compiler) secured(q *query.Query, params []types.OID, err error) (*query.Query, []types.OID, error) {
	if err == nil && c.Role != 0 {
		err = rowsecurity.Apply(c.Analysis(""), q, c.Role, c.RowSecurityOff)
	}
	return q, params, err
}

// NoParameters returns the error of a statement with parameters to which nothing can be bound.
func (c *Compiler) NoParameters(st parse.Statement) error {
	x := c.Analysis(st.Source)
	x.NoParams = true
	if _, _, err := analyze.Statement(x, st.Node, nil); err != nil {
		return err
	}
	return pgerr.New(pgerr.IndeterminateDatatype, "could not determine the type of a parameter")
}

// AsSystem returns a compiler that finds all objects and all rows. It is for statements that are not of the
// client.
func (c *Compiler) AsSystem() *Compiler {
	out := *c
	out.Role = 0
	return &out
}

// SearchPath returns search_path without the schemas that do not exist, or that the role may not use.
func (c *Compiler) SearchPath() []string {
	var out []string
	me := privilege.Of(c.View, c.Database, c.Role)
	for _, name := range c.Path {
		_, builtIn := pgcatalog.NamespaceOID(name)
		if builtIn || c.View.SchemaByName(c.Database, name) != nil && (c.Role == 0 || me.UsesSchema(name) == nil) {
			out = append(out, name)
		}
	}
	return out
}
