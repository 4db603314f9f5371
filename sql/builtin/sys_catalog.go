package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// sysCatalog has the functions that read the catalog: names, visibility, definitions, comments.
var sysCatalog = map[string]Func{
	"pg_table_is_visible":    visible(ObjRelation),
	"pg_type_is_visible":     visible(ObjType),
	"pg_function_is_visible": visible(ObjFunction),
	"pg_operator_is_visible": visible(ObjOperator), "pg_collation_is_visible": visible(ObjCollation),
	"pg_opclass_is_visible": visible(ObjOpClass), "pg_opfamily_is_visible": visible(ObjOpFamily),
	"pg_conversion_is_visible": alwaysTrue, "pg_ts_config_is_visible": alwaysTrue, "pg_ts_dict_is_visible": alwaysTrue,
	"pg_ts_parser_is_visible": alwaysTrue, "pg_ts_template_is_visible": alwaysTrue,
	"to_regclass":     toReg(ObjRelation),
	"to_regtype":      toReg(ObjType),
	"to_regproc":      toReg(ObjFunction),
	"to_regprocedure": toReg(ObjProcedure),
	"to_regnamespace": toReg(ObjSchema),
	"to_regrole":      toReg(ObjRole),
	"to_regoper":      toReg(ObjOperator),
	"to_regcollation": toReg(ObjCollation),
	"text_regclass":   textRegclass,
	"format_type":     formatType, "pg_typeof": pgTypeof, "pg_get_userbyid": userByID,
	"pg_get_expr": getExpr, "pg_get_expr_ext": getExpr,
	"pg_get_constraintdef":     definition(SessionInfo.ConstraintDef),
	"pg_get_constraintdef_ext": definition(SessionInfo.ConstraintDef),
	"pg_relation_is_updatable": relationUpdatable,
	"pg_column_is_updatable":   columnUpdatable,
	"pg_get_viewdef":           viewDef,
	"pg_get_viewdef_ext":       viewDef,
	"pg_get_viewdef_wrap":      viewDef,
	"pg_get_viewdef_name":      viewDef,
	"pg_get_viewdef_name_ext":  viewDef,
	"pg_get_indexdef":          getIndexDef, "pg_get_indexdef_ext": getIndexDef,
	"pg_get_ruledef":                       noDefinition,
	"pg_get_ruledef_ext":                   noDefinition,
	"pg_get_triggerdef":                    definition(SessionInfo.TriggerDef),
	"pg_get_triggerdef_ext":                definition(SessionInfo.TriggerDef),
	"pg_get_partkeydef":                    noDefinition,
	"pg_get_partition_constraintdef":       noDefinition,
	"pg_get_statisticsobjdef":              statisticsDef(false),
	"pg_get_statisticsobjdef_columns":      statisticsDef(true),
	"pg_get_function_sqlbody":              functionText(SessionInfo.FunctionBody),
	"pg_get_functiondef":                   functionText(SessionInfo.FunctionDef),
	"pg_get_function_result":               functionText(SessionInfo.FunctionResult),
	"pg_get_function_arguments":            functionText(SessionInfo.FunctionArguments),
	"pg_get_function_identity_arguments":   functionText(SessionInfo.FunctionIdentityArguments),
	"pg_get_statisticsobjdef_expressions":  statisticsExpressions,
	"pg_get_replica_identity_index":        noDefinition,
	"pg_get_function_arg_default":          noDefinition,
	"pg_relation_is_publishable":           alwaysFalse,
	"pg_statistics_obj_is_visible":         visible(ObjStatistics),
	"pg_collation_actual_version":          noDefinition,
	"pg_database_collation_actual_version": noDefinition,
	"pg_column_compression":                noDefinition,
	"pg_partition_root":                    noDefinition,
	"pg_tablespace_location":               emptyText, "acldefault_sql": aclDefault,
	"pg_get_serial_sequence":   getSerialSequence,
	"col_description(26,23)":   colDescription,
	"obj_description(26)":      objDescription,
	"obj_description(26,19)":   objDescription,
	"shobj_description(26,19)": objDescription,
}

func alwaysTrue(*Ctx, []types.Datum) (types.Datum, error) { return types.NewBool(true), nil }

func noDefinition(*Ctx, []types.Datum) (types.Datum, error) { return types.Null, nil }

func emptyText(*Ctx, []types.Datum) (types.Datum, error) { return types.NewText(""), nil }

// noRows is a set-returning function over objects that Sherd does not have, such as partitions.
func noRows(*Ctx, []types.Datum, func([]types.Datum) error) error { return nil }

func visible(kind ObjectKind) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		v, ok := s.IsVisible(kind, a[0].Oid())
		if !ok {
			return types.Null, nil
		}
		return types.NewBool(v), nil
	}
}

func toReg(kind ObjectKind) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		oid, ok, err := s.FindObject(kind, a[0].S)
		if err != nil || !ok {
			return types.Null, err
		}
		return types.NewOid(oid), nil
	}
}

// relationByName resolves the text form of a relation's name.
func (c *Ctx) relationByName(name string) (uint32, error) {
	s, err := c.session()
	if err != nil {
		return 0, err
	}
	oid, ok, err := s.FindObject(ObjRelation, name)
	if err == nil && !ok {
		err = pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", name)
	}
	return oid, err
}

func textRegclass(c *Ctx, a []types.Datum) (types.Datum, error) {
	oid, err := c.relationByName(a[0].S)
	if err != nil {
		return types.Null, err
	}
	return types.NewOid(oid), nil
}

// formatType is not strict: the result for a null type is null; a null modifier means none.
func formatType(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	typmod := int32(-1)
	if !a[1].IsNull() {
		typmod = int32(a[1].N)
	}
	if !a[1].IsNull() && typmod < 0 { // the standard's names would imply a length of 1
		switch a[0].Oid() {
		case types.BPChar:
			return types.NewText("bpchar"), nil
		case types.Bit:
			return types.NewText(`"bit"`), nil
		}
	}
	return types.NewText(c.formatType(a[0].Oid(), typmod)), nil
}

func pgTypeof(c *Ctx, _ []types.Datum) (types.Datum, error) { return types.NewOid(c.argType(0)), nil }

func userByID(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	if _, name, ok := s.ObjectName(ObjRole, a[0].Oid()); ok {
		return types.NewText(name), nil
	}
	return types.NewText("unknown (OID=" + types.Output(types.Oid, a[0], nil) + ")"), nil
}

func pretty(a []types.Datum, i int) bool { return i < len(a) && a[i].Bool() }

func getExpr(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	return textOrNull(s.Expression(a[0].S, a[1].Oid(), pretty(a, 2)))
}

func definition(f func(SessionInfo, uint32, bool) (string, bool)) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return textOrNull(f(s, a[0].Oid(), pretty(a, 1)))
	}
}

func relationUpdatable(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	return types.NewInt(int64(s.Updatable(a[0].Oid(), 0))), nil
}

// columnUpdatable is pg_column_is_updatable: rows can be deleted, and the column updated.
func columnUpdatable(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	const both = 4 | 16
	column := int16(a[1].Int())
	return types.NewBool(column > 0 && s.Updatable(a[0].Oid(), column)&both == both), nil
}

// viewDef is pg_get_viewdef of an OID or a name, and of whether it is pretty or the width of lines.
func viewDef(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	var oid uint32
	if a[0].K == types.KindText {
		if oid, err = c.relationByName(a[0].S); err != nil {
			return types.Null, err
		}
	} else {
		oid = a[0].Oid()
	}
	pretty, width := false, 0
	if len(a) > 1 && a[1].K == types.KindBool {
		pretty = a[1].Bool()
	} else if len(a) > 1 {
		pretty, width = true, int(a[1].Int())
	}
	return textOrNull(s.ViewDef(oid, pretty, width))
}

func functionText(f func(SessionInfo, uint32) (string, bool)) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return textOrNull(f(s, a[0].Oid()))
	}
}

func getIndexDef(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	column := 0
	if len(a) > 1 {
		column = int(a[1].N)
	}
	return textOrNull(s.IndexDef(a[0].Oid(), column, pretty(a, 2)))
}

func statisticsDef(columnsOnly bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return textOrNull(s.StatisticsDef(a[0].Oid(), columnsOnly))
	}
}

func statisticsExpressions(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	list, ok := s.StatisticsExpressions(a[0].Oid())
	if !ok {
		return types.Null, nil
	}
	return types.NewTextArray(list), nil
}

func getSerialSequence(c *Ctx, a []types.Datum) (types.Datum, error) {
	relation, err := c.relationByName(a[0].S)
	if err != nil {
		return types.Null, err
	}
	name, ok, err := c.Session.SerialSequence(relation, a[1].S)
	if err != nil {
		return types.Null, err
	}
	return textOrNull(name, ok)
}

func colDescription(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	if a[1].N == 0 {
		return types.Null, nil
	}
	return textOrNull(s.Comment("pg_class", a[0].Oid(), int32(a[1].N)))
}

func objDescription(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	catalog := ""
	if len(a) > 1 {
		catalog = a[1].S
	}
	return textOrNull(s.Comment(catalog, a[0].Oid(), 0))
}
