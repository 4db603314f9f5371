package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// enums has the functions of enums. A value is its rank, so comparisons need no definition; the others
// get the values of the type from Env.
var enums = makeEnums()

func makeEnums() map[string]Func {
	compare := func(a, b types.Datum) int { return types.Compare(types.Bytea, a, b) }
	m := map[string]Func{
		"enum_in": func(c *Ctx, a []types.Datum) (types.Datum, error) {
			return types.Input(a[1].Oid(), -1, a[0].S, c.Env)
		},
		"enum_out":  enumText,
		"enum_send": func(c *Ctx, a []types.Datum) (types.Datum, error) { return types.NewBytes(c.text(0, a[0])), nil },
		"enum_first": func(c *Ctx, a []types.Datum) (types.Datum, error) {
			return enumEnd(c, func(v []types.EnumValue) types.EnumValue { return v[0] })
		},
		"enum_last": func(c *Ctx, a []types.Datum) (types.Datum, error) {
			return enumEnd(c, func(v []types.EnumValue) types.EnumValue { return v[len(v)-1] })
		},
		"enum_range_all": func(c *Ctx, a []types.Datum) (types.Datum, error) {
			return enumRange(c, types.Null, types.Null)
		},
		"enum_range_bounds": func(c *Ctx, a []types.Datum) (types.Datum, error) { return enumRange(c, a[0], a[1]) },
	}
	comparisonOf(m, "enum_", "", plainCompare(compare))
	extremesOf(m, "enum_", compare)
	return m
}

func enumText(c *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(c.text(0, a[0])), nil
}

// enumValues returns the values of the enum that the first argument has the type of.
func enumValues(c *Ctx) ([]types.EnumValue, error) {
	oid := c.argType(0)
	if !types.IsEnum(oid) || c.Env == nil || c.Env.EnumValues == nil {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "could not determine actual enum type")
	}
	return c.Env.EnumValues(oid)
}

func enumEnd(c *Ctx, which func([]types.EnumValue) types.EnumValue) (types.Datum, error) {
	list, err := enumValues(c)
	if err != nil {
		return types.Null, err
	}
	if len(list) == 0 {
		return types.Null, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "enum %s contains no values",
			c.formatType(c.argType(0), -1))
	}
	v := which(list)
	return types.NewEnum(v.Rank), types.CheckEnumValue(v, c.formatType(c.argType(0), -1))
}

// enumRange returns the values from one to another as an array; null is no bound.
func enumRange(c *Ctx, from, to types.Datum) (types.Datum, error) {
	list, err := enumValues(c)
	if err != nil {
		return types.Null, err
	}
	var out []types.Datum
	for _, v := range list {
		if !from.IsNull() && v.Rank < from.S || !to.IsNull() && v.Rank > to.S {
			continue
		}
		if err := types.CheckEnumValue(v, c.formatType(c.argType(0), -1)); err != nil {
			return types.Null, err
		}
		out = append(out, types.NewEnum(v.Rank))
	}
	return types.NewList(c.argType(0), out), nil
}
