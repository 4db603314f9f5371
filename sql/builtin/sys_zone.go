package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// ZoneInfo restricts where data may lie: replicas by the labels of nodes, anchors by fragments.
type ZoneInfo interface {
	// SetFragmentLabels restricts the replicas of a fragment to nodes with labels,
	// SetDatabaseLabels those of all fragments of a database.
	SetFragmentLabels(fragment, labels, why string) error
	SetDatabaseLabels(database, labels, why string) error
	// PinAnchors moves the anchors of a table to a fragment and pins them there; it returns the
	// number of moves started. UnpinAnchors removes the pins and returns the number of unpinned
	// buckets.
	PinAnchors(table uint32, anchors []string, fragment string, o MoveOptions) (int64, error)
	UnpinAnchors(table uint32, anchors []string, why string) (int64, error)
}

// sysZone has the functions that restrict where data may lie.
var sysZone = map[string]Func{
	"sherd_set_fragment_labels": onZone(func(z ZoneInfo, a []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, z.SetFragmentLabels(a[0].S, a[1].S, a[2].S)
	}),
	"sherd_set_database_labels": onZone(func(z ZoneInfo, a []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, z.SetDatabaseLabels(a[0].S, a[1].S, a[2].S)
	}),
	"sherd_pin_anchors": onZone(func(z ZoneInfo, a []types.Datum) (types.Datum, error) {
		anchors, err := anchorList(a[1])
		if err != nil {
			return types.Null, err
		}
		n, err := z.PinAnchors(uint32(a[0].N), anchors, a[2].S, moveOptions(a[3:]))
		return types.NewInt(n), err
	}),
	"sherd_unpin_anchors": onZone(func(z ZoneInfo, a []types.Datum) (types.Datum, error) {
		anchors, err := anchorList(a[1])
		if err != nil {
			return types.Null, err
		}
		n, err := z.UnpinAnchors(uint32(a[0].N), anchors, a[2].S)
		return types.NewInt(n), err
	}),
}

func onZone(do func(ZoneInfo, []types.Datum) (types.Datum, error)) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return do(s, a)
	}
}

func anchorList(d types.Datum) ([]string, error) {
	ids, ok := textElements(d)
	if !ok {
		return nil, pgerr.New(pgerr.NullValueNotAllowed, "anchors must not be null")
	}
	return ids, nil
}
