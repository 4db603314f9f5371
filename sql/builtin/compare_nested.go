package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// comparisonNested has the comparison of arrays, records and bit strings.
var comparisonNested = makeNestedComparison()

func makeNestedComparison() map[string]Func {
	m := map[string]Func{}
	array := types.Comparer(types.TextArray) // an array has its element type inside
	comparisonOf(m, "array_", "", compareArrays)
	m["btarraycmp"] = m["array_cmp"]
	delete(m, "array_cmp")
	extremesOf(m, "array_", array)
	comparisonOf(m, "record_", "", comparableRecords("a comparison function"))
	equality := map[string]Func{}
	comparisonOf(equality, "record_", "", comparableRecords("an equality operator"))
	m["record_eq"], m["record_ne"] = equality["record_eq"], equality["record_ne"]
	m["btrecordcmp"] = m["record_cmp"]
	delete(m, "record_cmp")
	comparisonOf(m, "record_image_", "", compareRecords)
	m["btrecordimagecmp"] = m["record_image_cmp"]
	delete(m, "record_image_cmp")
	comparisonOf(m, "bit", "", plainCompare(types.Comparer(types.VarBit)))
	comparisonOf(m, "oidvector", "", plainCompare(types.Comparer(types.OidVector)))
	m["btoidvectorcmp"] = m["oidvectorcmp"]
	delete(m, "oidvectorcmp")
	return m
}

func compareArrays(_ *Ctx, a, b types.Datum) (int, error) {
	x, err := types.ArrayOf(a)
	if err != nil {
		return 0, err
	}
	y, err := types.ArrayOf(b)
	if err != nil {
		return 0, err
	}
	if x.Elem != y.Elem && types.KindOf(x.Elem) != types.KindOf(y.Elem) {
		return 0, pgerr.New(pgerr.DatatypeMismatch, "cannot compare arrays of different element types")
	}
	if x.Elem == types.JSON || x.Elem == types.XML {
		return 0, pgerr.New(pgerr.UndefinedFunction, "could not identify a comparison function for type %s",
			types.TypeName(x.Elem))
	}
	return types.Compare(types.TextArray, a, b), nil
}

// comparableRecords compares records. It refuses fields that have no order, as PostgreSQL does when it
// compares the values.
func comparableRecords(missing string) func(*Ctx, types.Datum, types.Datum) (int, error) {
	return func(_ *Ctx, a, b types.Datum) (int, error) {
		r, err := types.RecordOf(a)
		if err != nil {
			return 0, err
		}
		for i := range r.Len() {
			if t := r.Type(i); t == types.JSON || t == types.XML {
				return 0, pgerr.New(pgerr.UndefinedFunction, "could not identify %s for type %s", missing,
					types.TypeName(t))
			}
		}
		return types.CompareRecords(a, b)
	}
}

func compareRecords(_ *Ctx, a, b types.Datum) (int, error) { return types.CompareRecords(a, b) }
