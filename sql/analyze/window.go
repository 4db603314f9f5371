package analyze

import (
	"reflect"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// windowDef is a window of this level, named in WINDOW or defined by OVER (…). It is analyzed after
// ORDER BY.
type windowDef struct {
	name string
	def  *pg_query.WindowDef
}

// Frame option bits of PostgreSQL (FRAMEOPTION_*).
const (
	frameNonDefault         = 0x00001
	frameRange              = 0x00002
	frameRows               = 0x00004
	frameGroups             = 0x00008
	frameStartUnboundedPrec = 0x00020
	frameEndUnboundedPrec   = 0x00040
	frameStartUnboundedFoll = 0x00080
	frameEndUnboundedFoll   = 0x00100
	frameStartCurrentRow    = 0x00200
	frameEndCurrentRow      = 0x00400
	frameStartOffsetPrec    = 0x00800
	frameEndOffsetPrec      = 0x01000
	frameStartOffsetFoll    = 0x02000
	frameEndOffsetFoll      = 0x04000
	frameDefaults           = frameRange | frameStartUnboundedPrec | frameEndCurrentRow
	frameStartOffset        = frameStartOffsetPrec | frameStartOffsetFoll
	frameEndOffset          = frameEndOffsetPrec | frameEndOffsetFoll
)

// windowCall returns a call over a window (transformWindowFuncCall).
func (s *scope) windowCall(f *pg_query.FuncCall, name string, call *query.Call) (query.Expr, error) {
	isAgg := call.Proc.Kind == 'a'
	switch {
	case f.AggDistinct:
		return nil, s.unsupported(f.Location, "DISTINCT is not implemented for window functions")
	case len(f.AggOrder) > 0 && isAgg:
		return nil, s.unsupported(f.Location, "aggregate ORDER BY is not implemented for window functions")
	case !isAgg && f.AggStar:
		return nil, s.errorf(f.Location, pgerr.WrongObjectType, "%s(*) specified, but %s is not an aggregate function",
			name, name)
	case !isAgg && f.AggFilter != nil:
		return nil, s.unsupported(f.Location, "FILTER is not implemented for non-aggregate window functions")
	}
	w := &query.WindowCall{T: call.T, Proc: call.Proc, Args: call.Args, Star: f.AggStar}
	if f.AggFilter != nil {
		err := s.at(inFilter, func() error {
			e, err := s.expr(f.AggFilter)
			if err != nil {
				return err
			}
			w.Filter, err = s.coerceBool(e, "FILTER", location(f.AggFilter))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if message := noWindows(s.place); message != "" {
		return nil, s.errorf(f.Location, pgerr.WindowingError, "%s", message)
	}
	for _, a := range w.Args {
		if inner := findWindowCall(a); inner != nil {
			return nil, s.errorf(s.locs.of(inner), pgerr.WindowingError, "window function calls cannot be nested")
		}
		if returnsSet(a) {
			return nil, s.unsupported(f.Location, "window function calls cannot contain set-returning function calls").
				WithHint("You might be able to move the set-returning function into a LATERAL FROM item.")
		}
	}
	n, err := s.windowIndex(f.Over)
	if err != nil {
		return nil, err
	}
	w.Window = n
	s.locs[w] = f.Location
	s.q.HasWindow = true
	return w, nil
}

func findWindowCall(e query.Expr) query.Expr {
	var found query.Expr
	query.Walk(e, func(x query.Expr) bool {
		if found == nil && isWindowCall(x) {
			found = x
		}
		return found == nil
	})
	return found
}

func isWindowCall(e query.Expr) bool {
	_, ok := e.(*query.WindowCall)
	return ok
}

func noWindows(p place) string {
	switch p {
	case inSelect, inOther, inOrderBy, inDistinctOn, inInsert:
		return ""
	case inJoinOn:
		return "window functions are not allowed in JOIN conditions"
	case inFromFunction:
		return "window functions are not allowed in functions in FROM"
	case inWindowPartition, inWindowOrder, inWindowFrame:
		return "window functions are not allowed in window definitions"
	case inCheck:
		return "window functions are not allowed in check constraints"
	case inDefault, inParameterDefault:
		return "window functions are not allowed in DEFAULT expressions"
	case inGenerated:
		return "window functions are not allowed in column generation expressions"
	case inIndexKey:
		return "window functions are not allowed in index expressions"
	case inIndexPredicate:
		return "window functions are not allowed in index predicates"
	case inTransform:
		return "window functions are not allowed in transform expressions"
	}
	return "window functions are not allowed in " + placeNames[p]
}

// windowIndex returns the window of OVER, and adds it if it is new.
func (s *scope) windowIndex(def *pg_query.WindowDef) (int, error) {
	if def.Name != "" {
		for i, w := range s.windows {
			if w.name == def.Name {
				return i, nil
			}
		}
		return 0, s.errorf(def.Location, pgerr.UndefinedObject, "window %q does not exist", def.Name)
	}
	for i, w := range s.windows {
		if w.name == "" && sameWindow(w.def, def) {
			return i, nil
		}
	}
	s.windows = append(s.windows, &windowDef{def: def})
	return len(s.windows) - 1, nil
}

// sameWindow reports whether two definitions are equal except for their locations.
func sameWindow(a, b *pg_query.WindowDef) bool {
	if a.Refname != b.Refname || a.FrameOptions != b.FrameOptions || len(a.PartitionClause) != len(b.PartitionClause) ||
		len(a.OrderClause) != len(b.OrderClause) {
		return false
	}
	if reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() {
		return true
	}
	x, y := proto.Clone(a).(*pg_query.WindowDef), proto.Clone(b).(*pg_query.WindowDef)
	clearLocations(x.ProtoReflect())
	clearLocations(y.ProtoReflect())
	return proto.Equal(x, y)
}

// windowsClause records the names of the WINDOW clause before the targets are analyzed.
func (s *scope) windowsClause(nodes []*pg_query.Node) error {
	for _, n := range nodes {
		def := n.GetWindowDef()
		for _, w := range s.windows {
			if w.name == def.Name {
				return s.errorf(def.Location, pgerr.WindowingError, "window %q is already defined", def.Name)
			}
		}
		s.windows = append(s.windows, &windowDef{name: def.Name, def: def})
	}
	return nil
}

// finishWindows analyzes the definitions (transformWindowDefinitions).
func (s *scope) finishWindows() error {
	for i := 0; i < len(s.windows); i++ {
		w, err := s.window(s.windows[i], i)
		if err != nil {
			return err
		}
		s.q.Windows = append(s.q.Windows, w)
	}
	return nil
}

func (s *scope) window(d *windowDef, index int) (query.Window, error) {
	def := d.def
	w := query.Window{Frame: query.Frame{Options: int(def.FrameOptions)}}
	if s.ctx.Form {
		w.Form = &query.WindowForm{Name: d.name}
	}
	if err := s.inheritWindow(&w, def, index); err != nil {
		return w, err
	}
	err := s.at(inWindowPartition, func() error {
		for _, n := range def.PartitionClause {
			e, err := s.groupable(n)
			if err != nil {
				return err
			}
			w.Partition = append(w.Partition, e)
		}
		return nil
	})
	if err != nil {
		return w, err
	}
	err = s.at(inWindowOrder, func() error {
		for _, n := range def.OrderClause {
			sb := n.GetSortBy()
			e, err := s.groupable(sb.Node)
			if err != nil {
				return err
			}
			desc, nulls, err := s.direction(sb)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(w.Order, func(o query.WindowOrder) bool { return query.Equal(o.Expr, e) }) {
				w.Order = append(w.Order, query.WindowOrder{Expr: e, Desc: desc, NullsFirst: nulls})
			}
		}
		return nil
	})
	if err != nil {
		return w, err
	}
	return w, s.frame(&w, def)
}

// inheritWindow copies what OVER (name …) takes from another window.
func (s *scope) inheritWindow(w *query.Window, def *pg_query.WindowDef, index int) error {
	if def.Refname == "" {
		return nil
	}
	at := -1
	for i := range index {
		if s.windows[i].name == def.Refname {
			at = i
		}
	}
	if at < 0 {
		return s.errorf(def.Location, pgerr.UndefinedObject, "window %q does not exist", def.Refname)
	}
	ref := s.q.Windows[at]
	switch {
	case len(def.PartitionClause) > 0:
		return s.errorf(def.Location, pgerr.WindowingError, "cannot override PARTITION BY clause of window %q",
			def.Refname)
	case len(def.OrderClause) > 0 && len(ref.Order) > 0:
		return s.errorf(def.Location, pgerr.WindowingError, "cannot override ORDER BY clause of window %q", def.Refname)
	case ref.Frame.Options != frameDefaults:
		return s.errorf(def.Location, pgerr.WindowingError, "cannot copy window %q because it has a frame clause",
			def.Refname)
	}
	w.Partition = append(w.Partition, ref.Partition...)
	w.Order = append(w.Order, ref.Order...)
	if s.ctx.Form {
		w.Form.Ref, w.Form.Copied = def.Refname, len(ref.Order) > 0
	}
	return nil
}

// groupable analyzes a PARTITION BY or window ORDER BY expression.
func (s *scope) groupable(n *pg_query.Node) (query.Expr, error) {
	e, err := s.expr(n)
	if err != nil {
		return nil, err
	}
	if e.Type() == types.Unknown {
		if e, err = s.coerce(e, types.Text, -1, implicit, location(n)); err != nil {
			return nil, err
		}
	}
	return e, s.sortable(e.Type(), location(n), "ordering")
}

// frame analyzes the offsets of a frame clause.
func (s *scope) frame(w *query.Window, def *pg_query.WindowDef) error {
	options := w.Frame.Options
	if options&frameRange != 0 && options&(frameStartOffset|frameEndOffset) != 0 {
		if len(w.Order) != 1 {
			return s.errorf(def.Location, pgerr.WindowingError,
				"RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
		}
	}
	if options&frameGroups != 0 && len(w.Order) == 0 {
		return s.errorf(def.Location, pgerr.WindowingError, "GROUPS mode requires an ORDER BY clause")
	}
	name := "ROWS"
	switch {
	case options&frameGroups != 0:
		name = "GROUPS"
	case options&frameRange != 0:
		name = "RANGE"
	}
	offset := func(n *pg_query.Node) (query.Expr, error) {
		if n == nil {
			return nil, nil
		}
		e, err := s.expr(n)
		if err != nil {
			return nil, err
		}
		t := types.Int8
		if options&frameRange != 0 {
			var refused *pgerr.Error
			if t, refused = rangeOffset(w.Order[0].Expr.Type(), e.Type()); refused != nil {
				return nil, refused.At(s.pos(location(n)))
			}
		}
		if e, err = s.coerceClause(e, t, name, location(n)); err != nil {
			return nil, err
		}
		if hasOwnVars(e) {
			return nil, s.errorf(location(n), pgerr.InvalidColumnReference, "argument of %s must not contain variables",
				name)
		}
		return e, nil
	}
	return s.at(inWindowFrame, func() (err error) {
		if w.Frame.Start, err = offset(def.StartOffset); err == nil {
			w.Frame.End, err = offset(def.EndOffset)
		}
		return err
	})
}

// rangeOffsets are the types of offset that RANGE has for the type of the ORDER BY column, as the
// in_range functions of PostgreSQL's pg_amproc.
var rangeOffsets = map[types.OID][]types.OID{
	types.Int2: {types.Int8, types.Int2, types.Int4}, types.Int4: {types.Int8, types.Int2, types.Int4},
	types.Int8: {types.Int8}, types.Float4: {types.Float8}, types.Float8: {types.Float8},
	types.Numeric: {types.Numeric}, types.Interval: {types.Interval}, types.Date: {types.Interval},
	types.Timestamp: {types.Interval}, types.TimestampTZ: {types.Interval}, types.Time: {types.Interval},
	types.TimeTZ: {types.Interval},
}

// rangeOffset returns the type to which an offset is coerced: its own, or that of the ORDER BY column
// for an unknown literal, or else the only one possible.
func rangeOffset(column, offset types.OID) (types.OID, *pgerr.Error) {
	column = baseType(column)
	preferred := offset
	if offset == types.Unknown {
		preferred = column
	}
	var found []types.OID
	for _, t := range rangeOffsets[column] {
		switch {
		case t == preferred:
			return t, nil
		case canCoerceOne(offset, t, implicit):
			found = append(found, t)
		}
	}
	const refused = "RANGE with offset PRECEDING/FOLLOWING"
	switch {
	case rangeOffsets[column] == nil:
		return 0, pgerr.New(pgerr.FeatureNotSupported, refused+" is not supported for column type %s",
			types.TypeName(column))
	case len(found) == 0:
		return 0, pgerr.New(pgerr.FeatureNotSupported,
			refused+" is not supported for column type %s and offset type %s", types.TypeName(column),
			types.TypeName(offset)).WithHint("Cast the offset value to an appropriate type.")
	case len(found) > 1:
		return 0, pgerr.New(pgerr.FeatureNotSupported,
			refused+" has multiple interpretations for column type %s and offset type %s",
			types.TypeName(column), types.TypeName(offset)).
			WithHint("Cast the offset value to the exact intended type.")
	}
	return found[0], nil
}
