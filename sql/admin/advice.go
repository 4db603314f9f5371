package admin

import (
	"slices"
	"strconv"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/advice"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/outline"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

const (
	maxAdvised       = 6       // policies that are evaluated together
	sampledForFields = 2000    // documents in which fields are searched
	maxJudged        = 1 << 20 // documents by which policies are judged
)

// adviser judges policies of one table.
type adviser struct {
	e       *Environment
	view    *catalog.View
	definer *ddl.Env
	table   *catalog.Table
}

func newAdviser(e *Environment, table catalog.OID) (*adviser, error) {
	if e.Context == nil || e.Tx == nil {
		return nil, pgerr.Unsupported("sherd.policy_advice() cannot run here")
	}
	v := e.View()
	t, err := ddl.TableOf(v, e.Names.Database.OID, table)
	switch {
	case err != nil:
		return nil, err
	case !privilege.Owns(v, e.Names.Database.OID, e.Role, t.Owner):
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
	case t.PrimaryKey() == nil:
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`table "%s" has no primary key, so that it cannot have a sharding policy`, t.Name).
			WithHint("Give it one: ALTER TABLE %s ADD PRIMARY KEY (…).", builtin.QuoteIdent(t.Name))
	case t.Segments != nil:
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`rows of table "%s" lie by ranges of their keys, not by a sharding policy`, t.Name).
			WithHint("sherd.segments shows how they are spread.")
	}
	return &adviser{e: e, view: v, definer: e.Definer(), table: t}, nil
}

// query runs a SELECT of columns of the table, with a clause at its end.
func (a *adviser) query(columns []int, clause string, emit func(row []types.Datum) error) error {
	return a.definer.Query(a.e.Context, a.view, ddl.SelectColumns(a.view, a.table, columns)+clause, emit)
}

// policies returns the policy asked about, or those worth considering: the present one, the id, and the
// fields that documents have.
func (a *adviser) policies(asked string) ([]*shardmap.Policy, error) {
	if asked != "" {
		p, err := shardmap.ParsePolicyJSON(asked)
		if err != nil {
			return nil, err
		}
		return []*shardmap.Policy{p}, nil
	}
	fields, err := a.fields()
	if err != nil {
		return nil, err
	}
	out := []*shardmap.Policy{}
	add := func(p *shardmap.Policy) {
		same := func(q *shardmap.Policy) bool { return p.ByString() == q.ByString() && p.Range == q.Range }
		if len(out) < maxAdvised && !slices.ContainsFunc(out, same) {
			out = append(out, p)
		}
	}
	if a.table.Policy != nil {
		add(a.table.Policy)
	}
	for _, f := range append([]shardmap.Field{{Func: shardmap.IDFunc}}, fields...) {
		p, err := shardmap.NewPolicy([]shardmap.Field{f}, 1, false)
		if err != nil {
			return nil, err
		}
		add(p)
	}
	return out, nil
}

// fields returns fields that could be a policy: those of documents, or the columns of the primary key.
func (a *adviser) fields() ([]shardmap.Field, error) {
	if !a.table.Anchors {
		var out []shardmap.Field
		for _, att := range a.table.PrimaryKey().Columns {
			out = append(out, shardmap.Field{Path: []string{a.table.ColumnByNum(att).Name}})
		}
		return out, nil
	}
	if a.table.Document == 0 {
		return nil, nil
	}
	paths := advice.NewPaths()
	at := int(a.table.Document) - 1
	err := a.query([]int{at}, " LIMIT "+strconv.Itoa(sampledForFields), func(row []types.Datum) error {
		if !row[0].IsNull() {
			paths.Add(jsonb.Doc(row[0].S))
		}
		return nil
	})
	return paths.Fields(maxAdvised), err
}

// judge reads the table once for all policies.
func (a *adviser) judge(policies []*shardmap.Policy) ([]*advice.Report, error) {
	now, err := table.NewPlacement(a.table)
	if err != nil {
		return nil, err
	}
	judges, places := make([]*advice.Judge, len(policies)), make([]*table.Placement, len(policies))
	columns := now.Columns()
	for i, p := range policies {
		judges[i] = advice.NewJudge(p, a.table.Prefixes, a.table.Name, a.e.Tx.Gateway.Map)
		if places[i], err = table.NewPlacement(withPolicy(a.table, p)); err != nil {
			return nil, err
		}
		columns = append(columns, places[i].Columns()...)
	}
	slices.Sort(columns)
	columns = slices.Compact(columns)
	if err := a.read(columns, now, judges, places); err != nil {
		return nil, err
	}
	samples := a.e.Samples.Of(a.e.Names.Database.OID, a.table.OID)
	present := a.local(a.view, samples)
	var out []*advice.Report
	for i, j := range judges {
		st := advice.Statements{}
		under, err := a.under(policies[i])
		if err != nil {
			return nil, err
		}
		for k, one := range a.local(under, samples) {
			if one == unknownPlace || present[k] == unknownPlace {
				continue
			}
			st.Looked++
			st.One += int64(one)
			st.Now += int64(present[k])
		}
		out = append(out, j.Report(st))
	}
	return out, nil
}

func withPolicy(t *catalog.Table, p *shardmap.Policy) *catalog.Table {
	t = t.Clone()
	t.Policy, t.PolicyValidated = p, !p.Mutable
	return t
}

// under returns the definitions with a policy, as if all documents were placed by it.
func (a *adviser) under(p *shardmap.Policy) (*catalog.View, error) {
	ch := a.view.Plan()
	if err := ch.PutTable(withPolicy(a.table, p)); err != nil {
		return nil, err
	}
	return ch.Preview()
}

func (a *adviser) read(columns []int, now *table.Placement, judges []*advice.Judge, places []*table.Placement) error {
	step, err := a.step()
	if err != nil {
		return err
	}
	row := make([]types.Datum, len(a.table.Columns))
	n := int64(0)
	return a.query(columns, "", func(got []types.Datum) error {
		if n++; n%step != 0 {
			return nil
		}
		size := 0
		for i, at := range columns {
			row[at] = got[i]
			size += len(got[i].S)
		}
		id, own, bucket, err := now.Home(row)
		if err != nil {
			return err
		}
		for i, j := range judges {
			j.Add(advice.Document{ID: id, Own: own, Bucket: bucket, Values: places[i].Values(row), Bytes: size})
		}
		return nil
	})
}

// step returns the distance between documents that are judged, so that at most a million are.
func (a *adviser) step() (int64, error) {
	stats, err := a.e.Fragments.TableStats(a.e.Context, a.view.Database(a.e.Names.Database.OID), a.table.StorageID)
	documents := int64(0)
	for _, s := range stats {
		documents += s.Documents
	}
	return max(1, documents/maxJudged), err
}

// Results of adviser.place: whether one fragment answers a statement.
const (
	manyPlaces   = 0
	onePlace     = 1
	unknownPlace = 2
)

// local plans samples with the definitions of a view, and returns where each is answered.
func (a *adviser) local(view *catalog.View, list []stmt.Sample) []int {
	out := make([]int, len(list))
	plans := map[string]*plan.Plan{}
	for i, x := range list {
		key := x.Program.Statement.Text() + "\x00" + stmt.TypesKey(x.Program.Params)
		p, ok := plans[key]
		if !ok {
			p, _ = a.plan(view, x.Program) // nil if it cannot be planned any more
			plans[key] = p
		}
		out[i] = unknownPlace
		if p != nil {
			out[i] = a.place(p, x.Args)
		}
	}
	return out
}

func (a *adviser) plan(view *catalog.View, p *stmt.Program) (*plan.Plan, error) {
	c := a.e.Executor().Compiler.Against(view)
	st, err := p.Statement.Parsed()
	if err != nil {
		return nil, err
	}
	q, _, err := analyze.Statement(c.Analysis(st.Source), st.Node, p.Params)
	if err != nil {
		return nil, err
	}
	return plan.Build(q, plan.Env{Fold: expr.EvalConst})
}

// place evaluates the routes of a plan.
func (a *adviser) place(p *plan.Plan, args []types.Datum) int {
	c := a.e.Executor().Context(a.e.Context, a.e.Tx, args)
	m := a.e.Tx.Gateway.Map
	set, where := shardmap.BucketSet{}, onePlace
	outline.Of(p, outline.Notes{Route: func(r *plan.Route) string {
		if r.Table == nil {
			return ""
		}
		got, known, err := exec.RouteBuckets(c, r)
		switch {
		case err != nil:
			where = unknownPlace
		case !known && where == onePlace:
			where = manyPlaces
		default:
			set = set.Union(got)
		}
		return ""
	}})
	if where == onePlace && len(m.Split(set)) > 1 {
		where = manyPlaces
	}
	return where
}
