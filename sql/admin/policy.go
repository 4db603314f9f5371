package admin

import (
	"math"
	"slices"

	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/advice"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/types"
)

const adviceColumns = "policy jsonb, documents int8, rejected int8, misplaced int8, distinct_values int8, " +
	"buckets int8, largest_bucket int4, largest_documents int8, largest_bytes int8, skew float8, rising bool, " +
	"statements int8, one_fragment int8, one_fragment_now int8, advice text"

// policies has the functions about the sharding policies of tables.
var policies = []Function{
	{OID: 8003, Signature: "set_policy(regclass, text) RETURNS void", Call: void(setPolicy)},
	{
		OID: 8004, Signature: "validate_policy(regclass) RETURNS TABLE (id text, bucket int4, detail text)",
		Rows: validatePolicy,
	},
	{
		OID: 8009, Signature: "policy_advice(regclass) RETURNS TABLE (" + adviceColumns + ")",
		Rows: policyAdvice,
	},
	{
		OID: 8010, Signature: "policy_advice(regclass, jsonb) RETURNS TABLE (" + adviceColumns + ")",
		Source: "sherd_policy_advice_of", Rows: policyAdvice,
	},
}

// setPolicy sets the policy of a table; an empty one removes it. The change commits with the
// transaction.
func setPolicy(e *Environment, a []types.Datum) error {
	if err := e.mayDefine("sherd.set_policy()", a[0].Oid()); err != nil {
		return err
	}
	return ddl.SetPolicy(e.Context, e.Definer(), a[0].Oid(), a[1].S)
}

// validatePolicy emits the documents that lie where the policy does not allow, and marks the policy as
// validated if there are none.
func validatePolicy(e *Environment, a []types.Datum, emit func([]types.Datum) error) error {
	if err := e.mayDefine("sherd.validate_policy()", a[0].Oid()); err != nil {
		return err
	}
	return ddl.ValidatePolicy(e.Context, e.Definer(), a[0].Oid(), func(m ddl.Misplaced) error {
		return emit([]types.Datum{types.NewText(m.ID), types.NewInt(int64(m.Bucket)), types.NewText(m.Detail)})
	})
}

// policyAdvice evaluates a policy of a table or, without a second argument, those worth considering.
func policyAdvice(e *Environment, a []types.Datum, emit func([]types.Datum) error) error {
	asked := ""
	if len(a) > 1 {
		if asked = jsonb.Doc(a[1].S).Text(); asked == "" {
			asked = "{}"
		}
	}
	x, err := newAdviser(e, a[0].Oid())
	if err != nil {
		return err
	}
	list, err := x.policies(asked)
	if err != nil {
		return err
	}
	reports, err := x.judge(list)
	if err != nil {
		return err
	}
	slices.SortFunc(reports, advice.Better)
	for _, r := range reports {
		if err := emitReport(r, emit); err != nil {
			return err
		}
	}
	return nil
}

func emitReport(r *advice.Report, emit func([]types.Datum) error) error {
	doc, err := jsonb.Parse(r.Policy.JSON())
	if err != nil {
		return err
	}
	rises := types.Null
	if r.Ordered {
		rises = types.NewBool(r.Rises)
	}
	return emit([]types.Datum{
		types.NewJSONB(string(doc)), types.NewInt(r.Documents), types.NewInt(r.Rejected), types.NewInt(r.Misplaced),
		types.NewInt(r.Distinct), types.NewInt(r.Buckets), types.NewInt(int64(r.Largest)), types.NewInt(r.Most),
		types.NewInt(r.LargestBytes), types.NewFloat8(math.Round(r.Skew*1000) / 1000), rises, types.NewInt(r.Looked),
		types.NewInt(r.One), types.NewInt(r.Now), types.NewText(r.Text()),
	})
}
