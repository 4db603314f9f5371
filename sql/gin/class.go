package gin

import (
	"github.com/sherddb/sherd/sql/types"
)

// Class is an operator class of GIN.
type Class uint8

// The operator classes.
const (
	None Class = iota
	ArrayOps
	JSONBOps
	JSONBPathOps
)

// JSONBPathClass is the OID of jsonb_path_ops in pg_opclass. The other classes are the default
// classes of their types.
const JSONBPathClass = 10091

// ClassOf returns the class of a key column, given its type and the OID of its operator class, 0 for
// the default class of the type. None: the type has no such class.
func ClassOf(t types.OID, class uint32) Class {
	t = types.BaseOf(t)
	switch {
	case t == types.JSONB && class == JSONBPathClass:
		return JSONBPathOps
	case class != 0:
		return None
	case t == types.JSONB:
		return JSONBOps
	case types.ElemOf(t) != 0 && types.CanKey(types.ElemOf(t)):
		return ArrayOps
	}
	return None
}

// Searches reports whether the class serves an operator between the key and a value.
func (c Class) Searches(op string) bool {
	switch op {
	case "@>":
		return c != None
	case "@?", "@@":
		return c == JSONBOps || c == JSONBPathOps
	case "?", "?|", "?&":
		return c == JSONBOps
	case "&&", "<@", "=":
		return c == ArrayOps
	}
	return false
}

// Takes reports whether the column can be searched with values of a type. The elements of arrays must
// be encoded alike.
func (c *Column) Takes(t types.OID) bool {
	if c.Class != ArrayOps {
		return true
	}
	own, other := types.ElemOf(types.BaseOf(c.Type)), types.ElemOf(types.BaseOf(t))
	return own == other || isText(own) && isText(other)
}

func isText(t types.OID) bool { return t == types.Text || t == types.VarChar }
