package analyze

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// checkGeneric is check_generic_type_consistency: it reports whether the actual types fit the
// polymorphic types of a signature together.
func checkGeneric(actual, declared []types.OID) bool {
	var elem, array, anyc, anycArray types.OID
	var nonArray, enum, anycNonArray bool
	var common []types.OID
	for i, d := range declared {
		a := actual[i]
		switch d {
		case types.AnyElement, types.AnyNonArray, types.AnyEnum:
			nonArray = nonArray || d == types.AnyNonArray
			enum = enum || d == types.AnyEnum
			if a == types.Unknown {
				continue
			}
			if elem != 0 && a != elem {
				return false
			}
			elem = a
		case types.AnyArray:
			if a == types.Unknown {
				continue
			}
			a = baseType(a)
			if array != 0 && a != array {
				return false
			}
			array = a
		case types.AnyCompatible, types.AnyCompatibleNonArray:
			anycNonArray = anycNonArray || d == types.AnyCompatibleNonArray
			if a != types.Unknown {
				common = append(common, a)
			}
		case types.AnyCompatibleArray:
			if a == types.Unknown {
				continue
			}
			anycArray = elementOf(a)
			if anycArray == 0 {
				return false
			}
			common = append(common, anycArray)
		case anyRange, anyCompatibleRange:
			if a != types.Unknown && !isRange(a) {
				return false
			}
		case anyMultirange, anyCompatibleMultirange:
			if a != types.Unknown && !isMultirange(a) {
				return false
			}
		}
	}
	if array != 0 && array != types.AnyArray {
		ae := pgcatalog.ElementOf(array)
		if ae == 0 || elem != 0 && ae != elem {
			return false
		}
		elem = ae
	}
	if nonArray && isArray(elem) || enum && !isEnum(elem) {
		return false
	}
	if len(common) > 0 {
		t, ok := commonTypeOf(common)
		if !ok {
			return false
		}
		anyc = t
	}
	return !(anycNonArray && isArray(anyc))
}

// generic has the actual types of a call's polymorphic types.
type generic struct {
	elem, array             types.OID
	common                  types.OID
	rangeType, multirange   types.OID
	commonRange, commonMult types.OID
}

// resolve returns the actual type of a polymorphic one; ok is false if the call does not determine
// it.
func (g *generic) resolve(t types.OID) (types.OID, bool) {
	var r types.OID
	switch t {
	case types.AnyElement, types.AnyNonArray, types.AnyEnum:
		r = g.elem
	case types.AnyArray:
		r = g.array
		if r == 0 {
			r = pgcatalog.ArrayOf(g.elem)
		}
	case types.AnyCompatible, types.AnyCompatibleNonArray:
		r = g.common
	case types.AnyCompatibleArray:
		r = pgcatalog.ArrayOf(g.common)
	case anyRange:
		r = g.rangeType
	case anyMultirange:
		r = g.multirange
	case anyCompatibleRange:
		r = g.commonRange
	case anyCompatibleMultirange:
		r = g.commonMult
	default:
		return t, true
	}
	return r, r != 0
}

// enforceGeneric is enforce_generic_type_consistency: it replaces the polymorphic types in declared
// by the actual ones, and returns the result type.
func (s *scope) enforceGeneric(actual, declared []types.OID, ret types.OID, loc int32) (types.OID, error) {
	var g generic
	some := isPolymorphic(ret)
	var common []types.OID
	var nonArray, enum, family1, family2 bool
	for i, d := range declared {
		some = some || isPolymorphic(d)
		a := actual[i]
		family1, family2 = family1 || isPolymorphic1(d), family2 || isPolymorphic2(d)
		if a == types.Unknown {
			continue
		}
		switch d {
		case types.AnyElement, types.AnyNonArray, types.AnyEnum:
			nonArray, enum = nonArray || d == types.AnyNonArray, enum || d == types.AnyEnum
			if g.elem != 0 && g.elem != a {
				return 0, s.notAlike(`arguments declared "anyelement" are not all alike`, g.elem, a, loc)
			}
			g.elem = a
		case types.AnyArray:
			a = baseType(a)
			if g.array != 0 && g.array != a {
				return 0, s.notAlike(`arguments declared "anyarray" are not all alike`, g.array, a, loc)
			}
			g.array = a
		case anyRange:
			g.rangeType = baseType(a)
		case anyMultirange:
			g.multirange = baseType(a)
		case anyCompatibleRange:
			g.commonRange = baseType(a)
		case anyCompatibleMultirange:
			g.commonMult = baseType(a)
		case types.AnyCompatible, types.AnyCompatibleNonArray:
			common = append(common, a)
		case types.AnyCompatibleArray:
			e := elementOf(a)
			if e == 0 {
				return 0, s.errorf(loc, pgerr.DatatypeMismatch, "argument declared %s is not an array but type %s",
					"anycompatiblearray", s.ctx.name(a))
			}
			common = append(common, e)
		}
	}
	if !some {
		return ret, nil
	}
	if err := s.finishGeneric(&g, common, family1, family2, nonArray, enum, loc); err != nil {
		return 0, err
	}
	for i, d := range declared {
		if isPolymorphic(d) {
			t, ok := g.resolve(d)
			if !ok {
				return 0, s.noArrayType(&g, d, loc)
			}
			declared[i] = t
		}
	}
	t, ok := g.resolve(ret)
	if !ok {
		return 0, s.noArrayType(&g, ret, loc)
	}
	return t, nil
}

// finishGeneric derives the types that the arguments do not determine.
func (s *scope) finishGeneric(g *generic, common []types.OID, family1, family2, nonArray, enum bool, loc int32) error {
	if g.array != 0 {
		e := pgcatalog.ElementOf(g.array)
		switch {
		case g.array == types.AnyArray: // a column of pg_statistic
			e = types.AnyElement
		case e == 0:
			return s.errorf(loc, pgerr.DatatypeMismatch, "argument declared %s is not an array but type %s", "anyarray",
				s.ctx.name(g.array))
		case g.elem != 0 && g.elem != e:
			return pgerr.New(pgerr.DatatypeMismatch, "argument declared %s is not consistent with argument declared %s",
				"anyarray", "anyelement").
				WithDetail("%s versus %s", s.ctx.name(g.array), s.ctx.name(g.elem)).At(s.pos(loc))
		}
		g.elem = e
	}
	if g.rangeType != 0 || g.multirange != 0 || g.commonRange != 0 || g.commonMult != 0 {
		return pgerr.Unsupported("range types are not supported yet").At(s.pos(loc))
	}
	if family1 && g.elem == 0 {
		return s.errorf(loc, pgerr.DatatypeMismatch, "could not determine polymorphic type because input has type %s",
			"unknown")
	}
	if nonArray && isArray(g.elem) {
		return s.errorf(loc, pgerr.DatatypeMismatch, "type matched to anynonarray is an array type: %s",
			s.ctx.name(g.elem))
	}
	if enum && !isEnum(g.elem) {
		return s.errorf(loc, pgerr.DatatypeMismatch, "type matched to anyenum is not an enum type: %s",
			s.ctx.name(g.elem))
	}
	if !family2 {
		return nil
	}
	if len(common) == 0 {
		g.common = types.Text
		return nil
	}
	t, ok := commonTypeOf(common)
	if !ok {
		return s.errorf(loc, pgerr.DatatypeMismatch,
			"arguments of anycompatible family cannot be cast to a common type")
	}
	g.common = t
	return nil
}

func (s *scope) notAlike(message string, a, b types.OID, loc int32) error {
	return pgerr.New(pgerr.DatatypeMismatch, "%s", message).WithDetail("%s versus %s", s.ctx.name(a), s.ctx.name(b)).
		At(s.pos(loc))
}

func (s *scope) noArrayType(g *generic, t types.OID, loc int32) error {
	elem := g.elem
	if isPolymorphic2(t) {
		elem = g.common
	}
	return s.errorf(loc, pgerr.UndefinedObject, "could not find array type for data type %s", s.ctx.name(elem))
}
