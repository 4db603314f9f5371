package analyze

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
)

// lookupType finds a type by schema and name; "" means the search path.
func (s *scope) lookupType(schema, name string) *pgcatalog.Type {
	if schema != "" {
		return typeIn(s.ctx, schema, name)
	}
	if t := pgcatalog.TypeByName("pg_catalog", name); t != nil {
		return t
	}
	for _, sch := range s.ctx.SearchPath {
		if t := typeIn(s.ctx, sch, name); t != nil {
			return t
		}
		if t, _ := s.relationIn(sch, name); t != nil {
			return nil // a row type
		}
	}
	return nil
}

// typeIn finds a type in a schema.
func typeIn(ctx *Context, schema, name string) *pgcatalog.Type {
	if t := pgcatalog.TypeByName(schema, name); t != nil || ctx.Catalog == nil {
		return t
	}
	if oid := userTypeIn(ctx, schema, name); oid != 0 {
		return pgcatalog.TypeByOID(oid)
	}
	return nil
}

// userTypeIn returns the type of a user that has a name in a schema, 0 if there is none.
func userTypeIn(ctx *Context, schema, name string) types.OID {
	if ctx.Catalog == nil {
		return 0
	}
	return usertype.Find(ctx.Catalog, ctx.Database, schema, name)
}

// storedValue analyzes a constant of an enum or of a composite type, or of an array of it, in a stored
// expression: its text has ranks. ok is false for every other cast.
func storedValue(s *scope, c *pg_query.TypeCast) (e query.Expr, ok bool, err error) {
	names := nodeStrings(c.TypeName.Names)
	if len(names) != 2 || names[0] != "sherd" {
		return nil, false, nil
	}
	digits, found := strings.CutPrefix(names[1], storedValueName)
	text, isText := c.Arg.GetAConst().GetVal().(*pg_query.A_Const_Sval)
	n, perr := strconv.ParseUint(digits, 10, 32)
	oid := types.OID(n)
	if !found || !isText || perr != nil || !types.IsEnum(oid) && !types.IsComposite(oid) {
		return nil, false, nil
	}
	if len(c.TypeName.ArrayBounds) > 0 {
		oid = types.ArrayTypeOf(oid)
	}
	env := types.StoredEnv
	if !types.IsEnum(oid) && s.ctx.Catalog != nil {
		env = types.StoredRows(func(oid types.OID) ([]types.Attribute, error) {
			return usertype.Attributes(s.ctx.Catalog, oid), nil
		})
	}
	v, err := types.Input(oid, -1, text.Sval.Sval, env)
	if err == nil && types.KindOf(types.OID(n)) == types.KindEnum {
		err = checkRanks(s.ctx, oid, v)
	}
	if err != nil {
		return nil, true, s.placed(err, c.Location)
	}
	return &query.Const{T: query.Of(oid), Value: v, Pos: s.pos(c.Location)}, true, nil
}

// storedValueName is what the type of a constant begins with in a stored expression.
const storedValueName = "value_"

// checkRanks returns an error if an enum has no value of a rank.
func checkRanks(ctx *Context, oid types.OID, v types.Datum) error {
	values := []types.Datum{v}
	if types.IsArray(oid) {
		a, err := types.ArrayOf(v)
		if err != nil {
			return err
		}
		values = a.Elems()
	}
	if ctx.Catalog == nil {
		return nil
	}
	t := catalog.TypeByOID(ctx.Catalog, catalog.TypeNumber(oid))
	for _, d := range values {
		if !d.IsNull() && (t == nil || t.Ranked(d.S) == nil) {
			return types.InvalidRank(hex.EncodeToString([]byte(d.S)))
		}
	}
	return nil
}

// typeName returns the type and the type modifier of a name in the text (typenameTypeIdAndMod).
func (s *scope) typeName(t *pg_query.TypeName) (types.OID, int32, error) {
	if t.PctType {
		return 0, 0, s.unsupported(t.Location, "%%TYPE is not supported here")
	}
	if t.Setof {
		return 0, 0, s.errorf(t.Location, pgerr.DatatypeMismatch, "SETOF is not allowed here")
	}
	name := nodeStrings(t.Names)
	if len(name) == 3 && name[0] == s.databaseName() {
		name = name[1:]
	}
	shown := strings.Join(name, ".")
	var typ *pgcatalog.Type
	switch len(name) {
	case 1:
		typ = s.lookupType("", name[0])
	case 2:
		if !s.schemaExists(name[0]) {
			return 0, 0, s.errorf(t.Location, pgerr.InvalidSchemaName, "schema %q does not exist", name[0])
		}
		if err := s.ctx.usesSchema(name[0]); err != nil {
			return 0, 0, pgerr.From(err).At(s.pos(t.Location))
		}
		typ = s.lookupType(name[0], name[1])
	default:
		return 0, 0, s.errorf(t.Location, pgerr.SyntaxError, "improper qualified name (too many dotted names): %s",
			shown)
	}
	if typ == nil && s.namesRowType(t) {
		return 0, 0, s.unsupported(t.Location, "columns and arrays of the row type of a table are not supported").
			WithHint("Use jsonb: to_jsonb() makes a document of a row, jsonb_populate_record() a row of a document.")
	}
	if typ == nil {
		if len(t.ArrayBounds) > 0 {
			shown += "[]"
		}
		return 0, 0, s.errorf(t.Location, pgerr.UndefinedObject, "type %q does not exist", shown)
	}
	typmod, err := s.typmodOf(typ.OID, shown, t)
	if err != nil {
		return 0, 0, err
	}
	if len(t.ArrayBounds) == 0 {
		return typ.OID, typmod, nil
	}
	if types.IsDomain(typ.OID) {
		return 0, 0, s.unsupported(t.Location, "arrays of domains are not supported yet").
			WithHint("Use an array of the base type, or a domain over it.")
	}
	a := typ.Array
	if a == 0 && pgcatalog.ElementOf(typ.OID) != 0 {
		a = typ.OID
	}
	if a == 0 {
		return 0, 0, s.errorf(t.Location, pgerr.UndefinedObject, "type %q does not exist", shown+"[]")
	}
	return a, typmod, nil
}

// typmodOf reads the modifiers in parentheses as the type's typmodin function does.
func (s *scope) typmodOf(typ types.OID, name string, t *pg_query.TypeName) (int32, error) {
	if len(t.Typmods) == 0 {
		return t.Typemod, nil
	}
	mods := make([]int, len(t.Typmods))
	for i, n := range t.Typmods {
		text := modText(n)
		v, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			if !slices.Contains(modifiable, typ) {
				break
			}
			return 0, s.errorf(t.Location, pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: %q",
				"integer", text)
		}
		mods[i] = int(v)
	}
	var mod int32
	var err *pgerr.Error
	switch typ {
	case types.VarChar, types.BPChar:
		mod, err = lengthMod(mods, map[types.OID]string{types.VarChar: "varchar", types.BPChar: "char"}[typ], 10485760,
			4)
	case types.Bit, types.VarBit:
		mod, err = lengthMod(mods, map[types.OID]string{types.Bit: "bit", types.VarBit: "varbit"}[typ], 83886080, 0)
	case types.Numeric:
		mod, err = numericMod(mods)
	case types.Time, types.TimeTZ:
		mod, err = secondsMod(mods, "TIME", typ == types.TimeTZ)
	case types.Timestamp, types.TimestampTZ:
		mod, err = secondsMod(mods, "TIMESTAMP", typ == types.TimestampTZ)
	case types.Interval:
		mod, err = intervalMod(mods)
	default:
		err = pgerr.New(pgerr.SyntaxError, "type modifier is not allowed for type %q", name)
	}
	if err != nil {
		return 0, err.At(s.pos(t.Location))
	}
	return mod, nil
}

var modifiable = []types.OID{types.VarChar, types.BPChar, types.Bit, types.VarBit, types.Numeric, types.Time,
	types.TimeTZ, types.Timestamp, types.TimestampTZ, types.Interval}

// modText returns a modifier as text: numbers, strings and bare names are allowed.
func modText(n *pg_query.Node) string {
	if c := n.GetAConst(); c != nil {
		switch v := c.Val.(type) {
		case *pg_query.A_Const_Ival:
			return strconv.Itoa(int(v.Ival.Ival))
		case *pg_query.A_Const_Fval:
			return v.Fval.Fval
		case *pg_query.A_Const_Sval:
			return v.Sval.Sval
		}
	}
	if c := n.GetColumnRef(); c != nil {
		return strings.Join(nodeStrings(c.Fields), ".")
	}
	return "?"
}

func lengthMod(mods []int, name string, limit int, header int32) (int32, *pgerr.Error) {
	switch {
	case len(mods) != 1:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid type modifier")
	case mods[0] < 1:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "length for type %s must be at least 1", name)
	case mods[0] > limit:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "length for type %s cannot exceed %d", name, limit)
	}
	return int32(mods[0]) + header, nil
}

func numericMod(mods []int) (int32, *pgerr.Error) {
	if len(mods) > 2 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid NUMERIC type modifier")
	}
	precision, scale := mods[0], 0
	if len(mods) == 2 {
		scale = mods[1]
	}
	if precision < 1 || precision > 1000 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "NUMERIC precision %d must be between 1 and 1000", precision)
	}
	if scale < -1000 || scale > 1000 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "NUMERIC scale %d must be between -1000 and 1000", scale)
	}
	return int32(precision<<16|scale&0x7ff) + 4, nil
}

func secondsMod(mods []int, name string, zone bool) (int32, *pgerr.Error) {
	if len(mods) != 1 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid type modifier")
	}
	if mods[0] < 0 {
		suffix := ""
		if zone {
			suffix = " WITH TIME ZONE"
		}
		return 0, pgerr.New(pgerr.InvalidParameterValue, "%s(%d)%s precision must not be negative", name, mods[0],
			suffix)
	}
	return int32(min(mods[0], 6)), nil
}

func intervalMod(mods []int) (int32, *pgerr.Error) {
	const fullRange, fullPrecision = 0x7fff, 0xffff
	switch {
	case len(mods) > 2:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid INTERVAL type modifier")
	case len(mods) == 1 && mods[0] == fullRange:
		return -1, nil
	case len(mods) == 1:
		return int32(mods[0]<<16 | fullPrecision), nil
	case mods[1] < 0:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "INTERVAL(%d) precision must not be negative", mods[1])
	}
	return int32(mods[0]<<16 | min(mods[1], 6)), nil
}

// RoutineType returns the type of an argument or result of a function. relation is the table whose row
// type it is, 0 if it is none. converted is set for table.column%TYPE.
func RoutineType(ctx *Context, source string, t *pg_query.TypeName) (oid types.OID, relation catalog.OID,
	converted bool, err error) {
	s := storedScope(ctx, source, "", nil, inOther)
	if t.PctType {
		oid, err = columnType(s, t)
		return oid, 0, true, err
	}
	own := &pg_query.TypeName{Names: t.Names, TypeOid: t.TypeOid, Typmods: t.Typmods, Typemod: t.Typemod,
		ArrayBounds: t.ArrayBounds, Location: t.Location}
	if table := s.rowTypeOf(own); table != nil {
		return rowType(table), table.OID, false, nil
	}
	oid, _, err = s.typeName(own)
	return oid, 0, false, err
}

// columnType returns the type of table.column%TYPE.
func columnType(s *scope, t *pg_query.TypeName) (types.OID, error) {
	c, err := columnNamed(s, nodeStrings(t.Names), t.Location)
	if err != nil {
		return 0, err
	}
	if len(t.ArrayBounds) > 0 {
		return types.ArrayTypeOf(c.Type), nil
	}
	return c.Type, nil
}

// columnNamed finds a column by the parts of its name, table and schema before it.
func columnNamed(s *scope, parts []string, loc int32) (*query.Column, error) {
	if len(parts) < 2 {
		return nil, s.errorf(loc, pgerr.SyntaxError, "improper %%TYPE reference (too few dotted names): %s",
			strings.Join(parts, "."))
	}
	table := parts[:len(parts)-1]
	rel, err := relationNamed(s, table, loc)
	if err != nil {
		return nil, err
	}
	for i := range rel.Columns {
		if c := &rel.Columns[i]; c.Name == parts[len(parts)-1] && !c.Dropped {
			return c, nil
		}
	}
	return nil, s.errorf(loc, pgerr.UndefinedColumn, "column %q of relation %q does not exist",
		parts[len(parts)-1], table[len(table)-1])
}
