package leak

import (
	"strings"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
)

// May reports whether an expression may reveal a column that it reads. Subqueries in it are looked
// into (contain_leaked_vars).
func May(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		if s, ok := x.(*query.SubLink); ok {
			return mayQuery(s.Query)
		}
		return one(x) && readsColumn(x)
	})
}

// mayQuery is May for the expressions of a query.
func mayQuery(q *query.Query) bool {
	found := false
	query.WalkQuery(q, func(e query.Expr, _ int) {
		found = found || one(e) && readsColumn(e)
	})
	return found
}

// one reports whether an expression itself may reveal its inputs.
func one(e query.Expr) bool {
	switch n := e.(type) {
	case *query.Call:
		return !safe(n.Proc)
	case *query.ArrayOp:
		return !safe(n.Proc)
	case *query.Distinct:
		return !safe(n.Equal)
	case *query.NullIf:
		return !safe(n.Equal)
	case *query.RowCompare:
		for i := range n.Lt {
			if !safe(n.Lt[i]) || !safe(n.Eq[i]) {
				return true
			}
		}
		return false
	case *query.Subscript:
		return n.Assign != nil
	case *query.Var, *query.Const, *query.Param, *query.Relabel, *query.And, *query.Or, *query.Not, *query.NullTest,
		*query.BoolTest, *query.Case, *query.Coalesce, *query.Array, *query.Row, *query.Field, *query.Element,
		*query.SubLink, *query.SubColumn, *query.SQLValue:
		return false
	}
	return true // a cast through the text form, a domain, an aggregate, or something new
}

// readsColumn reports whether an expression reads a column, or a value that may come from one.
func readsColumn(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		switch x.(type) {
		case *query.Var, *query.SubLink, *query.SubColumn, *query.Element, *query.Agg, *query.WindowCall:
			return true
		}
		return false
	})
}

// safe reports whether a function shows its arguments in its result only.
func safe(p *pgcatalog.Proc) bool {
	switch {
	case p == nil:
		return false
	case p.Language != "":
		return p.Leakproof
	}
	return leakproof[p.Src]
}

// leakproof has the functions that are proleakproof in PostgreSQL, and more that fail with no value here.
var leakproof = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(declared + harmless) {
		out[name] = true
	}
	return out
}()

// declared are the functions that are proleakproof in PostgreSQL 15, by prosrc.
const declared = `
	bitcmp biteq bitge bitgt bitle bitlt bitne bool_int4 booleq boolge boolgt boolle boollt boolne bpchar_larger
	bpchar_name bpchar_pattern_ge bpchar_pattern_gt bpchar_pattern_le bpchar_pattern_lt bpchar_smaller bpcharcmp
	bpchareq bpcharge bpchargt bpcharle bpcharlt bpcharne btboolcmp btbpchar_pattern_cmp btcharcmp btfloat48cmp
	btfloat4cmp btfloat84cmp btfloat8cmp btint24cmp btint28cmp btint2cmp btint42cmp btint48cmp btint4cmp btint82cmp
	btint84cmp btint8cmp btnamecmp btnametextcmp btoidcmp btoidvectorcmp bttext_pattern_cmp bttextcmp bttextnamecmp
	bttidcmp byteacmp byteaeq byteage byteagt byteale bytealt byteane cash_cmp cash_eq cash_ge cash_gt cash_le
	cash_lt cash_ne chareq charge chargt charle charlt charne cideq circle_eq circle_ge circle_gt circle_le
	circle_lt circle_ne date_cmp date_eq date_ge date_gt date_le date_lt date_ne float48eq float48ge float48gt
	float48le float48lt float48ne float4_numeric float4eq float4ge float4gt float4le float4lt float4ne float84eq
	float84ge float84gt float84le float84lt float84ne float8_numeric float8eq float8ge float8gt float8le float8lt
	float8ne ftod gen_random_uuid i2tod i2tof i2toi4 i4tod i4tof i8tod i8tof int24eq int24ge int24gt int24le
	int24lt int24ne int28 int28eq int28ge int28gt int28le int28lt int28ne int2_numeric int2eq int2ge int2gt int2le
	int2lt int2ne int42eq int42ge int42gt int42le int42lt int42ne int48 int48eq int48ge int48gt int48le int48lt
	int48ne int4_bool int4_numeric int4eq int4ge int4gt int4le int4lt int4ne int82eq int82ge int82gt int82le
	int82lt int82ne int84eq int84ge int84gt int84le int84lt int84ne int8_numeric int8eq int8ge int8gt int8le int8lt
	int8ne interval_cmp interval_eq interval_ge interval_gt interval_le interval_lt interval_ne lseg_eq lseg_ge
	lseg_gt lseg_le lseg_lt lseg_ne macaddr8_cmp macaddr8_eq macaddr8_ge macaddr8_gt macaddr8_le macaddr8_lt
	macaddr8_ne macaddr_cmp macaddr_eq macaddr_ge macaddr_gt macaddr_le macaddr_lt macaddr_ne macaddrtomacaddr8
	md5_bytea md5_text name_text nameeq nameeqtext namege namegetext namegt namegttext namele nameletext namelt
	namelttext namene namenetext network_cmp network_eq network_ge network_gt network_le network_lt network_ne
	oideq oidge oidgt oidle oidlt oidne oidtoi8 oidvectoreq oidvectorge oidvectorgt oidvectorle oidvectorlt
	oidvectorne pg_lsn_cmp pg_lsn_eq pg_lsn_ge pg_lsn_gt pg_lsn_le pg_lsn_lt pg_lsn_ne sha224_bytea sha256_bytea
	sha384_bytea sha512_bytea text_ge text_gt text_larger text_le text_lt text_name text_pattern_ge text_pattern_gt
	text_pattern_le text_pattern_lt text_smaller text_starts_with texteq texteqname textgename textgtname
	textlename textltname textne textnename tideq tidge tidgt tidle tidlt tidne time_cmp time_eq time_ge time_gt
	time_interval time_le time_lt time_ne timestamp_cmp timestamp_eq timestamp_ge timestamp_gt timestamp_le
	timestamp_lt timestamp_ne timetz_cmp timetz_eq timetz_ge timetz_gt timetz_le timetz_lt timetz_ne uuid_cmp
	uuid_eq uuid_ge uuid_gt uuid_le uuid_lt uuid_ne xid8cmp xid8eq xid8ge xid8gt xid8le xid8lt xid8ne xideq xidneq
`

// harmless are more functions that fail with no value here.
const harmless = `
	array_eq array_length array_lower array_ne array_ndims array_upper
	arraycontained arraycontains arrayoverlap
	jsonb_array_element jsonb_array_element_text jsonb_cmp jsonb_contained jsonb_contains jsonb_eq jsonb_exists
	jsonb_exists_all jsonb_exists_any jsonb_extract_path jsonb_extract_path_text jsonb_ge jsonb_gt jsonb_le jsonb_lt
	jsonb_ne jsonb_object_field jsonb_object_field_text jsonb_typeof
	numeric_cmp numeric_eq numeric_ge numeric_gt numeric_le numeric_lt numeric_ne
`
