package builtin

import (
	"fmt"

	"github.com/sherddb/sherd/sql/types"
)

// defaultRights are the rights on an object of each kind before any GRANT: those of PUBLIC, and
// those of its owner.
var defaultRights = map[string]struct{ world, owner string }{
	"c": {"", ""},
	"r": {"", "arwdDxt"},
	"s": {"", "rwU"},
	"d": {"Tc", "CTc"},
	"f": {"X", "X"},
	"l": {"U", "U"},
	"L": {"", "rw"},
	"n": {"", "UC"},
	"p": {"", "sA"}, "t": {"", "C"}, "F": {"", "U"}, "S": {"", "U"}, "T": {"U", "U"},
}

// aclDefault is acldefault(kind, owner).
func aclDefault(c *Ctx, a []types.Datum) (types.Datum, error) {
	kind := types.Output(types.CharInternal, a[0], c.Env)
	rights, ok := defaultRights[kind]
	if !ok {
		return types.Null, fmt.Errorf("unrecognized objtype abbreviation: %s", kind)
	}
	owner := types.Output(types.Oid, a[1], c.Env)
	if s, err := c.session(); err != nil {
		return types.Null, err
	} else if _, name, ok := s.ObjectName(ObjRole, a[1].Oid()); ok {
		owner = QuoteIdent(name)
	}
	var items []types.Datum
	if rights.world != "" {
		items = append(items, types.NewText("="+rights.world+"/"+owner))
	}
	if rights.owner != "" {
		items = append(items, types.NewText(owner+"="+rights.owner+"/"+owner))
	}
	return types.NewList(types.AclItem, items), nil
}
