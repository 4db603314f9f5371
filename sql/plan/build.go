package plan

import (
	"math"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// Env is what planning needs from outside.
type Env struct {
	// Fold evaluates an expression without Slots, Params and Outers whose functions are immutable.
	// An error of data (class 22) is Plan.Failing if PostgreSQL evaluates the expression while it
	// plans; else it keeps the expression as it is: it is raised when, and only if, the statement
	// reaches it.
	Fold func(query.Expr) (types.Datum, error)
	// Triggers returns the row triggers of a table; nil: no table has any.
	Triggers func(*catalog.Table) RowTriggers
	// Watch returns what is to be noted of rows of a table that are written, nil is nothing.
	Watch func(*catalog.Table) []KeyWatch
	// LockLate has rows locked one by one, as they are asked for: of a cursor.
	LockLate bool
	// OrderedIndexes: all nodes read indexes in both directions and by all of KeyBounds, and know
	// Sort.Presorted, Aggregate.Sorted and Modify.Scan.
	OrderedIndexes bool
	// RuntimeFilters: all nodes know Scan.KeyFilters, and joins that return right columns only.
	RuntimeFilters bool
	// Sums returns the query of what the parts of a table's split documents add up to, see
	// Scan.Sums. nil: there are none.
	Sums func(*catalog.Table) (*query.Query, error)
	// Off are the methods that the client has switched off.
	Off Methods
	// Statistics returns what is known of a table's rows; nil: nothing. Its Rows and Bytes are
	// known even if the table was never analyzed. The function itself may be nil.
	Statistics func(*catalog.Table) *statistics.Table
	// Together returns the expressions of a table's statistics objects; nil: there are none.
	Together func(*catalog.Table) []query.StatisticsExpression
}

// Methods are ways to run a step. As Env.Off they are chosen only if there is no other way.
type Methods struct {
	SeqScan        bool // read whole buckets
	IndexScan      bool
	BitmapScan     bool // scans by GIN indexes
	KeyLookup      bool
	HashJoin       bool
	NestLoop       bool // look up the rows of a join one by one, or compare all pairs
	LookupJoin     bool // look up the rows of a join in batches
	LocalJoin      bool // join in the fragments
	RuntimeFilter  bool // leave out in scans what a join drops (package runtimefilter)
	Batch          bool // read for many rows at once what a step reads for each row (package batch)
	LocalAggregate bool // aggregate in the fragments
	Sort           bool
	Incremental    bool // sort groups of rows that come in the order of the first keys
	GatherMerge    bool // merge rows that the fragments have ordered
}

// incremental reports whether rows may be sorted in groups.
func (e *Env) incremental() bool { return e.OrderedIndexes && !e.Off.Incremental }

// Plan is a planned statement, immutable and shared by executions.
type Plan struct {
	Root Node
	// Outers is how many outer parameters the execution context holds.
	Outers int
	// Visible is the number of output columns that the client sees; the ones behind are sort keys.
	Visible int
	// Failing is the error of a constant expression that PostgreSQL evaluates while it plans: each
	// execution and EXPLAIN end with it. To parse and to describe the statement are no executions.
	Failing error
	// Estimates are those of all steps; nil if none were made.
	Estimates map[Node]Estimate
	guesses   []guess
}

// Cost is what an execution is expected to cost, in rows that are read in sequence.
func (p *Plan) Cost() float64 { return p.Estimates[p.Root].Total }

// Build plans q.
func Build(q *query.Query, env Env) (*Plan, error) {
	p := &planner{env: env, est: newEstimates(env), unions: unions{}, unread: map[*Scan][]int{}}
	root, err := p.query(&level{q: q})
	if err != nil {
		return nil, err
	}
	node := p.withSums(p.gather(root, nil).node)
	p.est.chooseHashed(node, 1)
	out := &Plan{Root: node, Outers: p.outers, Visible: len(node.Output()), Estimates: p.est.of(node)}
	out.guesses = p.est.guesses
	if p.failed {
		out.Failing = failingConstant(q, env.Fold)
	}
	return out, nil
}

type planner struct {
	env     Env
	est     estimates
	outers  int
	ctes    int
	subs    int
	lookups int // by index
	drives  int // how often FROM was planned in the order of a query
	hot     []hotSums
	unions  unions
	unread  map[*Scan][]int // the slots of scans that only their conditions read
	failed  bool            // a constant expression could not be folded
}

// level is one query being planned; up is the query whose row is current when this one runs.
type level struct {
	up    *level
	q     *query.Query
	binds []binding // columns of up's row that the plan of this level reads
	ctes  map[*query.CTE]int
	need  map[varKey]bool // columns of q.Rels that anything reads
	inits []Bind          // subqueries that run once, before the query, and the parameters that hold their values
	// driving is set while FROM is planned in the order of the query.
	driving *driving
}

type varKey struct{ rel, col int }

type binding struct {
	param int
	v     *query.Var // Up is 0: a column of level up
}

// outer returns the parameter by which this level reads v, a column of the level `levels` above it.
func (p *planner) outer(l *level, v *query.Var) (query.Expr, error) {
	child := l
	for range v.Up - 1 {
		child = child.up
		if child == nil {
			return nil, pgerr.New(pgerr.InternalError, "column %s refers outside the statement", v.Name)
		}
	}
	own := *v
	own.Up = 0
	for _, b := range child.binds {
		if b.v.Rel == own.Rel && b.v.Col == own.Col {
			return p.outerColumn(child.up, b), nil
		}
	}
	b := binding{param: p.outers, v: &own}
	p.outers++
	child.binds = append(child.binds, b)
	return p.outerColumn(child.up, b), nil
}

// outerColumn reads the parameter of b, a column of level l.
func (p *planner) outerColumn(l *level, b binding) *query.Outer {
	o := &query.Outer{T: b.v.T, N: b.param, Name: b.v.Name}
	if b.v.Rel >= 0 && b.v.Rel < len(l.q.Rels) {
		o.Rel = l.q.Rels[b.v.Rel].Alias
	}
	return o
}

// part is a planned piece of a query: its node, where its columns are, and whether every fragment
// can run it alone.
type part struct {
	node  Node
	in    *layout
	local *locality // nil: runs at the gateway
	order []SortKey // in which its rows come, of each fragment if it is local; empty: in any
}

// layout says which slot holds what.
type layout struct {
	slots map[varKey]int
	exprs []placed // expressions computed below, as group keys and aggregates are
	// lateral lists the siblings' columns that the node reads as outer parameters; the join that
	// brings both together binds them.
	lateral  []binding
	grouping []grouped // what GROUPING(…) is, above an aggregation with several sets
	collects bool      // a column that is missing becomes lateral instead of an error
}

type placed struct {
	expr query.Expr
	slot int
	col  Col
}

func newLayout() *layout { return &layout{slots: map[varKey]int{}} }

// query plans the query of l, to its visible columns.
func (p *planner) query(l *level) (part, error) {
	l.q = unnested(exposed(early(pulledUp(l.q))))
	l.ctes = map[*query.CTE]int{}
	l.need = neededColumns(l.q)
	withs, err := p.ctePlans(l)
	if err != nil {
		return part{}, err
	}
	out, err := l.cheapest(p)
	if err != nil {
		return part{}, err
	}
	out = p.initPlans(l, out)
	if len(withs) == 0 {
		return out, nil
	}
	out = p.gather(out, nil)
	out.node = &With{Base: Base{out.node.Output()}, CTEs: withs, Child: out.node}
	return out, nil
}

// cheapest plans the query with its correlated aggregates as they are, and as joins.
func (l *level) cheapest(p *planner) (part, error) {
	joined := groupedAggregates(l.q)
	if joined == nil || p.drives >= maxDrives {
		return p.body(l)
	}
	before, inits := *p, l.inits
	plain, err := p.body(l)
	if err != nil {
		return part{}, err
	}
	after, own := *p, *l
	resume(p, before)
	p.drives++
	l.q, l.need, l.inits = joined, neededColumns(joined), inits
	out, err := p.body(l)
	if err != nil {
		return part{}, err
	}
	if p.est.cost(out.node) < p.est.cost(plain.node) {
		return out, nil
	}
	resume(p, after)
	l.q, l.need, l.inits = own.q, own.need, own.inits
	return plain, nil
}

func (p *planner) body(l *level) (part, error) {
	switch l.q.Command {
	case query.Insert:
		return p.insert(l)
	case query.Update, query.Delete:
		return p.modify(l)
	case query.Merge:
		return merge(p, l)
	}
	if l.q.SetOp != nil {
		return p.setOperation(l)
	}
	if l.q.Values != nil {
		return p.values(l)
	}
	return p.selectQuery(l)
}

func (p *planner) selectQuery(l *level) (part, error) {
	locks := lockedRels(l.q)
	for _, k := range locks {
		l.need[varKey{k.rel, ColKey}] = true
	}
	cur, err := l.rows(p)
	if err != nil {
		return part{}, err
	}
	if len(locks) > 0 && !isEmpty(cur.node) {
		return p.selectLocked(l, cur, locks)
	}
	if l.q.HasAggs || l.q.GroupBy != nil || l.q.Having != nil || l.q.GroupingSets != nil {
		if cur, err = p.aggregate(l, cur); err != nil {
			return part{}, err
		}
	}
	if l.q.HasWindow {
		if cur, err = p.window(l, cur); err != nil {
			return part{}, err
		}
	}
	return p.output(l, cur)
}

// output computes the SELECT list of the rows below, sorts and limits.
func (p *planner) output(l *level, cur part) (part, error) {
	if lateTargets(l.q) {
		return p.sortThenTargets(l, cur, nil)
	}
	driven := len(cur.order) > 0
	cur, presorted := p.readInOrder(l, cur)
	cur, err := p.targets(l, cur)
	if err != nil {
		return part{}, err
	}
	if !driven && cur.local == nil {
		presorted = 0
	}
	return p.finish(l, cur, presorted)
}

// targets computes the SELECT list, hidden columns included.
func (p *planner) targets(l *level, cur part) (part, error) {
	proj := &Project{Child: cur.node}
	gateway := false
	for _, t := range l.q.Targets {
		e, err := p.rewrite(l, t.Expr, cur.in)
		if err != nil {
			return part{}, err
		}
		gateway = gateway || stays(e) || volatile(e)
		proj.Sets = proj.Sets || l.q.HasSRFs && hasSet(e)
		proj.Exprs = append(proj.Exprs, e)
		proj.Cols = append(proj.Cols, Col{t.Name, e.Type(), e.Typmod()})
	}
	if gateway {
		cur = p.gather(cur, nil)
		proj.Child = cur.node
	}
	return part{node: proj, in: newLayout(), local: cur.local}, nil
}

// finish does DISTINCT, ORDER BY and LIMIT over the targets and drops the hidden ones. Rows come in
// the order of the first keys, as many as presorted is, of each fragment if they are there.
func (p *planner) finish(l *level, cur part, presorted int) (part, error) {
	keys := slotKeys(l.q, l.q.OrderBy)
	count, offset, err := p.limits(l)
	if err != nil {
		return part{}, err
	}
	switch {
	case l.q.DistinctOn != nil:
		keys = slotKeys(l.q, orderOf(l.q))
		cur, keys = distinctSorted(p, cur, l.q.DistinctOn, keys, presorted, together(count, offset)), nil
	case l.q.Distinct && presorted > 0:
		keys = slotKeys(l.q, orderOf(l.q))
		cur, keys = distinctSorted(p, cur, firstSlots(visible(l.q)), keys, presorted, together(count, offset)), nil
	case l.q.Distinct:
		enough := together(count, offset)
		if len(keys) > 0 {
			enough = nil
		}
		cur = p.distinct(cur, visible(l.q), enough)
	}
	switch {
	case len(keys) > 0 && presorted == len(keys):
		cur = p.inOrder(cur, keys, count, offset)
	case len(keys) > 0:
		cur = p.sort(cur, keys, count, offset, presorted)
	}
	if cur, err = keepBounds(p, l, cur, slotKeys(l.q, l.q.OrderBy), count, offset); err != nil {
		return part{}, err
	}
	return dropHidden(cur, visible(l.q)), nil
}

func (p *planner) limits(l *level) (count, offset query.Expr, err error) {
	if count, err = p.rewrite(l, l.q.Limit, newLayout()); err != nil {
		return nil, nil, err
	}
	offset, err = p.rewrite(l, l.q.Offset, newLayout())
	return count, offset, err
}

// pushable reports whether every fragment may evaluate a LIMIT or OFFSET for itself.
func pushable(e query.Expr) bool { return !stays(e) && !volatile(e) }

func (p *planner) limit(cur part, count, offset query.Expr) part {
	if enough := together(count, offset); cur.local != nil && enough != nil {
		cur.node = &Limit{Base: Base{cur.node.Output()}, Child: cur.node, Count: enough}
	}
	cur = p.gather(cur, nil)
	cur.node = &Limit{Base: Base{cur.node.Output()}, Child: cur.node, Count: count, Offset: offset}
	return cur
}

// keepBounds keeps the rows that LIMIT, OFFSET and FETCH FIRST … WITH TIES ask for, of rows that come
// in the order of the keys of ORDER BY.
func keepBounds(p *planner, l *level, cur part, keys []SortKey, count, offset query.Expr) (part, error) {
	switch {
	case l.q.WithTies != nil:
	case count != nil || offset != nil:
		return p.limit(cur, count, offset), nil
	default:
		return cur, nil
	}
	count, err := p.rewrite(l, l.q.WithTies, newLayout())
	if err != nil {
		return part{}, err
	}
	cur = p.gather(cur, nil)
	cur.node = &Limit{Base: Base{cur.node.Output()}, Child: cur.node, Count: count, Offset: offset,
		Ties: keys}
	return cur, nil
}

// together is how many rows of one fragment are enough for LIMIT and OFFSET, nil where that is not
// known.
func together(count, offset query.Expr) query.Expr {
	if count == nil || !pushable(count) {
		return nil
	}
	if offset == nil {
		return count
	}
	c, ok := count.(*query.Const)
	o, too := offset.(*query.Const)
	if !ok || !too || c.Value.IsNull() || o.Value.IsNull() || c.Value.N < 0 || o.Value.N < 0 ||
		c.Value.N > math.MaxInt64-o.Value.N {
		return nil
	}
	return &query.Const{T: c.T, Value: types.NewInt(c.Value.N + o.Value.N)}
}

// sort orders in the fragments and merges at the gateway, or sorts there. Rows come in the order of
// the first keys, as many as presorted is.
func (p *planner) sort(cur part, keys []SortKey, count, offset query.Expr, presorted int) part {
	if count == nil || !pushable(count) || !pushable(offset) {
		count, offset = nil, nil
	}
	if p.env.Off.GatherMerge {
		cur = p.gather(cur, nil)
	}
	cur.node = &Sort{
		Base: Base{cur.node.Output()}, Child: cur.node, Keys: keys, Limit: count, Offset: offset, Presorted: presorted,
	}
	return p.gather(cur, keys)
}

// distinctSorted keeps the first row of each group of rows that are equal in some slots, which are the
// first keys: first in the fragments, where so many are enough (nil for all), then at the gateway.
func distinctSorted(p *planner, cur part, slots []int, keys []SortKey, presorted int, enough query.Expr) part {
	once := func(n Node) Node { return &Distinct{Base: Base{n.Output()}, Child: n, Keys: slots, Sorted: true} }
	if p.env.Off.GatherMerge {
		cur = p.gather(cur, nil)
	}
	if presorted < len(keys) {
		cur.node = &Sort{Base: Base{cur.node.Output()}, Child: cur.node, Keys: keys, Presorted: presorted}
	}
	if cur.local != nil {
		if cur.node = once(cur.node); enough != nil {
			cur.node = &Limit{Base: Base{cur.node.Output()}, Child: cur.node, Count: enough}
		}
		cur = p.gather(cur, keys)
	}
	cur.node = once(cur.node)
	return cur
}

// distinct drops rows that are there already; enough is how many of each fragment are enough, nil
// for all.
func (p *planner) distinct(cur part, visible int, enough query.Expr) part {
	var keys []int
	if visible < len(cur.node.Output()) {
		keys = firstSlots(visible)
	}
	once := func() { cur.node = &Distinct{Base: Base{cur.node.Output()}, Child: cur.node, Keys: keys} }
	if cur.local != nil {
		once()
		if enough != nil {
			cur.node = &Limit{Base: Base{cur.node.Output()}, Child: cur.node, Count: enough}
		}
		cur = p.gather(cur, nil)
	}
	once()
	return cur
}

// firstSlots lists the first n slots.
func firstSlots(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func dropHidden(cur part, n int) part {
	cols := cur.node.Output()
	if n == len(cols) {
		return cur
	}
	proj := &Project{Base: Base{cols[:n]}, Child: cur.node}
	for i, c := range cols[:n] {
		proj.Exprs = append(proj.Exprs, slot(i, c))
	}
	cur.node = proj
	return cur
}

func slot(n int, c Col) *query.Slot {
	return &query.Slot{T: query.T{OID: c.Type, Mod: c.Typmod}, N: n, Name: c.Name}
}

func visible(q *query.Query) int {
	n := 0
	for _, t := range q.Targets {
		if !t.Hidden {
			n++
		}
	}
	return n
}

// slotKeys returns keys of a query over its targets.
func slotKeys(q *query.Query, of []query.SortKey) []SortKey {
	var keys []SortKey
	for _, k := range of {
		keys = append(keys, SortKey{
			Slot: k.Target, Type: q.Targets[k.Target].Expr.Type(), Desc: k.Desc, NullsFirst: k.NullsFirst,
		})
	}
	return keys
}

// neededColumns lists the columns of q's own range table that q or its subqueries read.
func neededColumns(q *query.Query) map[varKey]bool {
	need := map[varKey]bool{}
	query.WalkQuery(q, func(e query.Expr, depth int) {
		if v, ok := e.(*query.Var); ok && v.Up == depth {
			need[varKey{v.Rel, v.Col}] = true
		}
	})
	expandJoinVars(q, need)
	return need
}

func expandJoinVars(q *query.Query, need map[varKey]bool) {
	for i := len(q.Rels) - 1; i >= 0; i-- {
		for c, e := range q.Rels[i].JoinVars {
			if !need[varKey{i, c}] && !need[varKey{i, query.ColWholeRow}] {
				continue
			}
			query.Walk(e, func(x query.Expr) bool {
				if v, ok := x.(*query.Var); ok && v.Up == 0 {
					need[varKey{v.Rel, v.Col}] = true
				}
				return true
			})
		}
	}
}
