package plan_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// functionRoute is a condition on a table whose policy has a function, planned once: its first
// parameter is what the cast makes of a stored text, and for a range the second one too.
type functionRoute struct {
	policy *shardmap.Policy
	cast   types.OID
	route  *plan.Route
	name   string
}

func functionRouteOf(t *testing.T, ctx *analyze.Context, table, cond string, cast types.OID) *functionRoute {
	t.Helper()
	name := fmt.Sprintf("SELECT * FROM %s WHERE %s", table, cond)
	_, p, err := build(ctx, name)
	must(t, err)
	g, ok := p.Root.(*plan.Gather)
	if !ok || len(g.Route.Content) == 0 {
		t.Fatalf("%s is not routed by content", name)
	}
	return &functionRoute{g.Route.Table.Policy, cast, &g.Route, name}
}

// check places a text and reports whether the route names its bucket; routed is false if placement
// or the cast refuse the text, or if nothing follows from the value.
func (f *functionRoute) check(
	t *testing.T, env *types.Env, text string, value types.Datum, params ...types.Datum,
) (routed bool) {
	t.Helper()
	placed, err := f.policy.ContentBucket(nil, "t", 0, []shardmap.Value{shardmap.Text(text)})
	if err != nil {
		return false
	}
	set, known, err := exec.RouteBuckets(&exec.Ctx{Execution: operator.Execution{Ctx: expr.Ctx{Params: params,
		Env: env}}}, f.route)
	must(t, err)
	if !known || !set.Contains(placed) {
		t.Errorf("%s: %q in zone %s is %s, and lies in bucket %d; routed to %s", f.name, text, env.ZoneName,
			types.Output(f.cast, value, nil), placed, set.String())
	}
	return !set.IsAll()
}

func pick[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

// randomNumber is a number as texts and JSON may spell it, often close to where casts round and to
// where types end.
func randomNumber(rnd *rand.Rand) string {
	base := pick(rnd, 0, 1, 7, 8, 1<<20, 1<<20-1, 1<<24, 1<<24-1, 1<<31-1, 1<<53, 1<<53-1, 1<<53+1,
		rnd.Int64N(1<<62), rnd.Int64N(1000))
	base = max(0, base+int64(rnd.IntN(3)-1))
	text := pick(rnd, "", "0", "000") + fmt.Sprint(base)
	text += pick(rnd, "", "", ".", ".0", ".00", ".5", ".4999999999999999999", ".5000000000000000001",
		"."+strings.Repeat("9", 1+rnd.IntN(40)),
		"."+strings.Repeat("0", rnd.IntN(30))+"1")
	text = pick(rnd, "", "", "-", "+") + text +
		pick(rnd, "", "", "e0", "E+2", "e-3", fmt.Sprintf("e%d", rnd.IntN(60)-30))
	return pick(rnd, "", "", " ", "\t\n") + text + pick(rnd, "", "", "  ")
}

// TestNumberCastsRoute compares placement by numeric(n) with routing by what a cast makes of the
// same text.
func TestNumberCastsRoute(t *testing.T) {
	ctx := testContext(t)
	var texts, numbers []*functionRoute
	for name, oid := range map[string]types.OID{"int2": types.Int2, "int4": types.Int4, "int8": types.Int8,
		"numeric": types.Numeric,
		"float4":  types.Float4, "float8": types.Float8} {
		for _, table := range []string{"counts", "blocks"} {
			texts = append(texts, functionRouteOf(t, ctx, table,
				fmt.Sprintf("(doc ->> 'n')::%s = $1::%[1]s", name), oid))
		}
		texts = append(texts, functionRouteOf(t, ctx, "counts",
			fmt.Sprintf("(doc ->> 'n')::%s = ANY (ARRAY[NULL, $1::%[1]s])", name), oid))
		numbers = append(numbers,
			functionRouteOf(t, ctx, "counts", fmt.Sprintf("(doc -> 'n')::%s = $1::%[1]s", name), oid),
			functionRouteOf(t, ctx, "counts",
				fmt.Sprintf("(doc -> 'n')::%s = ANY (ARRAY[NULL, $1::%[1]s])", name), oid))
	}
	rnd, env, routed := rand.New(rand.NewPCG(1, 2)), &types.Env{}, map[string]int{}
	for range 60000 {
		text := randomNumber(rnd)
		f := pick(rnd, texts...)
		if v, err := types.Input(f.cast, -1, text, env); err == nil && f.check(t, env, text, v, v) {
			routed[f.name]++
		}
		f = pick(rnd, numbers...)
		doc, err := types.Input(types.JSONB, -1, strings.TrimSpace(text), env)
		if err != nil {
			continue
		}
		q, _, err := build(ctx, fmt.Sprintf("SELECT ('%s'::jsonb)::%s", strings.TrimSpace(text),
			types.FormatType(f.cast, -1)))
		if err != nil {
			continue
		}
		v, err := expr.EvalConst(q.Targets[0].Expr)
		if err == nil && f.check(t, env, types.Output(types.JSONB, doc, nil), v, v) {
			routed[f.name]++
		}
	}
	for _, f := range append(texts, numbers...) {
		if routed[f.name] < 20 {
			t.Errorf("%s: only %d texts were routed", f.name, routed[f.name])
		}
	}
}

// randomInstant is a timestamp as placement takes it, often close to where a unit ends.
func randomInstant(rnd *rand.Rand) string {
	year := pick(rnd, 1, 4, 1600, 1883, 1900, 1945, 1970, 2000, 2011, 2026, 9999, 12345, 294276, 1+rnd.IntN(3000))
	date := fmt.Sprintf("%04d-%02d-%02d", year, 1+rnd.IntN(12), 1+rnd.IntN(28))
	date = pick(rnd, date, date, date, fmt.Sprintf("%04d-01-01", year), fmt.Sprintf("%04d-12-31", year), "2011-12-30",
		"2026-03-29", "2026-10-25")
	clock := pick(rnd, "00:00", "23:59", "24:00", "02:30", "12:00",
		fmt.Sprintf("%02d:%02d", rnd.IntN(24), rnd.IntN(60)))
	if rnd.IntN(4) > 0 {
		clock += pick(rnd, ":00", ":59", ":60", fmt.Sprintf(":%02d", rnd.IntN(60)))
		clock += pick(rnd, "", "", ".0", ".9999999", ".99999949", ".9999995", ".0000005", ".00000049999999999",
			fmt.Sprintf(".%d", rnd.Int64N(1e12)))
	}
	zone := pick(rnd, "", "", "Z", "z", " Z", "+00", "+01", "-0330", "+05:45", "-15:59:59", "+155959", " +14")
	text := date
	if rnd.IntN(8) > 0 {
		text += pick(rnd, "T", " ", "t") + clock + zone
	}
	return pick(rnd, "", "", " ") + text + pick(rnd, "", "", "", " BC", " ")
}

func zoneEnv(t *testing.T, name string, order types.DateOrder) *types.Env {
	t.Helper()
	loc, name, ok := types.LoadZone(name)
	if !ok {
		t.Fatalf("no zone %s", name)
	}
	return &types.Env{Zone: loc, ZoneName: name, DateOrder: order}
}

// TestInstantCastsRoute compares placement by day, hour, month and ticks, which knows UTC alone,
// with routing by what a cast makes of the same text in a session's zone.
func TestInstantCastsRoute(t *testing.T) {
	ctx := testContext(t)
	casts := map[string]types.OID{"timestamptz": types.TimestampTZ, "timestamp": types.Timestamp, "date": types.Date}
	var equal, between, open []*functionRoute
	for name, oid := range casts {
		for _, table := range []string{"daily", "hourly", "monthly", "ticking", "texted"} {
			field := "(doc ->> 'at')"
			if table == "texted" {
				field = "at"
			}
			equal = append(equal, functionRouteOf(t, ctx, table, fmt.Sprintf("%s::%s = $1::%[2]s", field, name), oid))
			if table == "ticking" {
				continue
			}
			between = append(between,
				functionRouteOf(t, ctx, table, fmt.Sprintf("%s::%s BETWEEN $1::%[2]s AND $2::%[2]s", field, name), oid))
			open = append(open, functionRouteOf(t, ctx, table,
				fmt.Sprintf("%s::%s > $1::%[2]s AND %[1]s::%[2]s < $2::%[2]s", field, name), oid))
		}
	}
	var envs []*types.Env
	for i, name := range []string{"UTC", "Etc/UTC", "GMT", "Europe/Berlin", "America/St_Johns", "Pacific/Apia",
		"Asia/Manila", "Africa/Monrovia",
		"EST5EDT", "UTC-20", "GMT+100", "GMT0BST,M3.5.0,M10.5.0"} {
		envs = append(envs, zoneEnv(t, name,
			pick(rand.New(rand.NewPCG(uint64(i), 0)), types.OrderMDY, types.OrderDMY, types.OrderYMD)))
	}
	rnd, routed := rand.New(rand.NewPCG(3, 4)), map[string]int{}
	for range 60000 {
		text, env := randomInstant(rnd), pick(rnd, envs...)
		f, g := pick(rnd, equal...), rnd.IntN(len(between))
		if v, err := types.Input(f.cast, -1, text, env); err == nil && f.check(t, env, text, v, v) {
			routed[f.name]++
		}
		v, err := types.Input(between[g].cast, -1, text, env)
		if err != nil {
			continue
		}
		lo, hi := v, v
		lo.N -= pick(rnd, 0, 1, rnd.Int64N(10))
		hi.N += pick(rnd, 0, 1, rnd.Int64N(10))
		if between[g].check(t, env, text, v, lo, hi) {
			routed[between[g].name]++
		}
		lo.N--
		hi.N++
		if open[g].check(t, env, text, v, lo, hi) {
			routed[open[g].name]++
		}
	}
	for _, f := range append(append(equal, between...), open...) {
		wants := !strings.Contains(f.name, "ticking") || f.cast == types.TimestampTZ
		if wants && routed[f.name] < 20 {
			t.Errorf("%s: only %d texts were routed", f.name, routed[f.name])
		}
	}
}
