package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// HotInfo splits the counters of single documents into parts, and merges them again.
type HotInfo interface {
	// HotSplit returns the number of parts. If table is 0, the id names its collection. Without
	// counters, it splits those of the table's option.
	HotSplit(table uint32, id string, parts int, counters []string) (int, error)
	HotJoin(table uint32, id string) error
}

// sysHot has the functions about documents that are used too much.
var sysHot = map[string]Func{
	"sherd_hot_split": func(c *Ctx, a []types.Datum) (types.Datum, error) { return hotSplit(c, 0, a) },
	"sherd_hot_split_of": func(c *Ctx, a []types.Datum) (types.Datum, error) {
		return hotSplit(c, a[0].Oid(), a[1:])
	},
	"sherd_hot_split_named": func(c *Ctx, a []types.Datum) (types.Datum, error) {
		oid, err := c.relationByName(a[0].S)
		if err != nil {
			return types.Null, err
		}
		return hotSplit(c, oid, a[1:])
	},
	"sherd_hot_join":    func(c *Ctx, a []types.Datum) (types.Datum, error) { return hotJoin(c, 0, a) },
	"sherd_hot_join_of": func(c *Ctx, a []types.Datum) (types.Datum, error) { return hotJoin(c, a[0].Oid(), a[1:]) },
}

func hotSplit(c *Ctx, table uint32, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	counters, ok := textElements(a[2])
	if !ok {
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "counters must not be null")
	}
	n, err := s.HotSplit(table, a[0].S, int(a[1].N), counters)
	return types.NewInt(int64(n)), err
}

func hotJoin(c *Ctx, table uint32, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	return types.Datum{K: types.KindVoid}, s.HotJoin(table, a[0].S)
}
