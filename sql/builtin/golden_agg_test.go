package builtin

import (
	"math"
	"strconv"
	"testing"

	"github.com/sherddb/sherd/sql/types"
)

// runAggregate runs an aggregate over its rows at once, and split in three parts with one of them
// empty, and compares the results (F3).
func runAggregate(t *testing.T, c *Ctx, agg *Agg, call *testCall, env *types.Env) ([]string, error) {
	var rows [][]types.Datum
	for _, texts := range call.rows {
		row, err := inputRow(t, texts, c.ArgTypes, env)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	whole := agg.New(c.ArgTypes, c.RetType)
	if err := stepAll(c, agg, whole, rows); err != nil {
		return nil, err
	}
	d, err := whole.Final(c)
	if err != nil {
		return nil, err
	}
	result := showDatum(c, c.RetType, d)
	if parts, err := inParts(c, agg, rows); err != nil {
		t.Errorf("%s in parts: %v", call.name, err)
	} else if parts != result && !sameFloat(c.RetType, parts, result) {
		t.Errorf("%s: at once %s, in parts %s", call.name, result, parts)
	}
	return []string{result}, nil
}

func stepAll(c *Ctx, agg *Agg, s AggState, rows [][]types.Datum) error {
	for _, row := range rows {
		skip := false
		for _, d := range row {
			skip = skip || agg.Strict && d.IsNull()
		}
		if skip {
			continue
		}
		if err := s.Step(c, row); err != nil {
			return err
		}
	}
	return nil
}

func inParts(c *Ctx, agg *Agg, rows [][]types.Datum) (string, error) {
	cut := len(rows) / 2
	total := agg.New(c.ArgTypes, c.RetType)
	for _, part := range [][][]types.Datum{rows[:cut], nil, rows[cut:]} {
		s := agg.New(c.ArgTypes, c.RetType)
		if err := stepAll(c, agg, s, part); err != nil {
			return "", err
		}
		partial, err := s.Partial(c)
		if err != nil {
			return "", err
		}
		if err := total.Combine(c, partial); err != nil {
			return "", err
		}
	}
	d, err := total.Final(c)
	return showDatum(c, c.RetType, d), err
}

// sameFloat allows floating-point results to differ in the last digits (F3).
func sameFloat(typ uint32, a, b string) bool {
	if typ != types.Float8 && typ != types.Float4 {
		return false
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && math.Abs(x-y) <= 1e-12*math.Abs(x)
}
