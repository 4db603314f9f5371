package builtin

import (
	"github.com/sherddb/sherd/sql/types"
)

// textElements gives the elements of a text[]; ok is false where one is null.
func textElements(d types.Datum) (elems []string, ok bool) {
	a, err := types.ArrayOf(d)
	if err != nil {
		return nil, false
	}
	elems = make([]string, a.Len())
	for i := range elems {
		e := a.At(i)
		if e.IsNull() {
			return nil, false
		}
		elems[i] = e.S
	}
	return elems, true
}

// nonNullTexts gives the elements of a text[] without nulls.
func nonNullTexts(d types.Datum) []string {
	a, err := types.ArrayOf(d)
	if err != nil {
		return nil
	}
	elems := make([]string, 0, a.Len())
	for i := 0; i < a.Len(); i++ {
		if e := a.At(i); !e.IsNull() {
			elems = append(elems, e.S)
		}
	}
	return elems
}
