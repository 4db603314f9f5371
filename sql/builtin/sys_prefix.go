package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// PrefixOptions are the options of set_prefix and drop_prefix.
type PrefixOptions struct {
	Buckets int64 // of a new rule; 0 means the default number
	Rewrite bool  // rewrite tables that have ids with the prefix
	MoveOptions
}

// PrefixInfo changes the prefix rules of the session's database.
type PrefixInfo interface {
	// SetPrefix adds a prefix rule, which commits with the transaction, or changes the fragments of
	// its buckets at once. It returns the number of moves started. DropPrefix drops a rule.
	SetPrefix(prefix string, fragments []string, o PrefixOptions) (int64, error)
	DropPrefix(prefix string, o PrefixOptions) error
}

// sysPrefix has the functions about prefix rules.
var sysPrefix = map[string]Func{
	"sherd_set_prefix": onPrefix(func(p PrefixInfo, a []types.Datum) (types.Datum, error) {
		fragments, ok := textElements(a[1])
		if !ok {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "fragments must not be null")
		}
		n, err := p.SetPrefix(a[0].S, fragments, PrefixOptions{Buckets: a[2].N, Rewrite: a[3].Bool(),
			MoveOptions: moveOptions(a[4:])})
		return types.NewInt(n), err
	}),
	"sherd_drop_prefix": onPrefix(func(p PrefixInfo, a []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, p.DropPrefix(a[0].S,
			PrefixOptions{Rewrite: a[1].Bool(), MoveOptions: MoveOptions{Why: a[2].S}})
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
