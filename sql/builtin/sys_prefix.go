package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// PrefixOptions is what set_prefix and drop_prefix take besides.
type PrefixOptions struct {
	Buckets int64 // of a new rule; 0: as many as usual
	Rewrite bool  // tables that have ids under the prefix are stored anew
	MoveOptions
}

// PrefixInfo makes rules for prefixes of the session's database.
type PrefixInfo interface {
	// SetPrefix makes the rule of a prefix, which commits with the transaction, or names other fragments for its buckets, which happens at once; it gives the number
	// of moves begun. DropPrefix ends a rule.
	SetPrefix(prefix string, fragments []string, o PrefixOptions) (int64, error)
	DropPrefix(prefix string, o PrefixOptions) error
}

// sysPrefix is what makes rules for prefixes.
var sysPrefix = map[string]Func{
	"sherd_set_prefix": onPrefix(func(p PrefixInfo, a []types.Datum) (types.Datum, error) {
		fragments, ok := textElements(a[1])
		if !ok {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "fragments must not be null")
		}
		n, err := p.SetPrefix(a[0].S, fragments, PrefixOptions{Buckets: a[2].N, Rewrite: a[3].Bool(), MoveOptions: moveOptions(a[4:])})
		return types.NewInt(n), err
	}),
	"sherd_drop_prefix": onPrefix(func(p PrefixInfo, a []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, p.DropPrefix(a[0].S, PrefixOptions{Rewrite: a[1].Bool(), MoveOptions: MoveOptions{Why: a[2].S}})
	}),
}

func onPrefix(do func(PrefixInfo, []types.Datum) (types.Datum, error)) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return do(s, a)
	}
}
