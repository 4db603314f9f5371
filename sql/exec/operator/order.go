package operator

import (
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// ordering compares rows by sort keys.
type Ordering []orderKey

type orderKey struct {
	slot       int
	compare    func(a, b types.Datum) int
	desc       bool
	nullsFirst bool
}

func NewOrdering(keys []plan.SortKey) Ordering {
	out := make(Ordering, len(keys))
	for i, k := range keys {
		out[i] = orderKey{k.Slot, types.Comparer(k.Type), k.Desc, k.NullsFirst}
	}
	return out
}

func (o Ordering) Compare(a, b types.Row) int {
	for i := range o {
		k := &o[i]
		if c := k.datums(&a[k.slot], &b[k.slot]); c != 0 {
			return c
		}
	}
	return 0
}

func (k *orderKey) datums(x, y *types.Datum) int {
	xn, yn := x.K == types.KindNull, y.K == types.KindNull
	if xn || yn {
		switch {
		case xn && yn:
			return 0
		case xn == k.nullsFirst:
			return -1
		}
		return 1
	}
	c := k.compare(*x, *y)
	if k.desc {
		return -c
	}
	return c
}
