package exec

import (
	"encoding/binary"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// NameOfKey describes the object under a key of a table, for messages: Key (id)=(orders/1-A) of
// relation "orders", or of its index. Values that cannot be decoded from the key, such as those of
// expressions, are left out.
func NameOfKey(def *catalog.Table, key []byte, env *types.Env) string {
	t, err := newTable(def)
	if err != nil {
		return `Something of relation "` + def.Name + `"`
	}
	return pgerr.Capital(t.nameOf(env, key))
}

// nameOf is NameOfKey within a sentence.
func (t *table) nameOf(env *types.Env, key []byte) string {
	if len(key) < entryAt {
		return `something of relation "` + t.def.Name + `"`
	}
	number := binary.BigEndian.Uint32(key[4:])
	switch {
	case number == 0 && len(key) >= keyAt:
		return t.rowName(env, key)
	case number == t.order:
		return t.rowName(env, append(make([]byte, keyAt), key[entryAt:]...))
	}
	for i := range t.def.Indexes {
		if x := &t.def.Indexes[i]; x.StorageID == number {
			return t.entryName(x, key, env)
		}
	}
	return `an index entry of relation "` + t.def.Name + `"`
}

func (t *table) entryName(x *catalog.Index, key []byte, env *types.Env) string {
	of := ` of index "` + x.Name + `"`
	rest := key[entryAt:]
	if x.Global && len(rest) >= keyAt-arrivalAt {
		rest = rest[arrivalAt-bucketAt:]
	}
	var names, values []string
	for i, att := range x.Columns {
		if att <= 0 || int(att) > len(t.def.Columns) {
			return "an entry" + of
		}
		col := &t.def.Columns[att-1]
		d, tail, err := types.DecodeKey(col.Type, rest, x.OrderOf(i)&catalog.KeyDesc != 0)
		if err != nil {
			return "an entry" + of
		}
		text := "null"
		if !d.IsNull() {
			text = clip(types.Output(col.Type, d, env))
		}
		rest, names, values = tail, append(names, col.Name), append(values, text)
	}
	return "key (" + strings.Join(names, ", ") + ")=(" + strings.Join(values, ", ") + ")" + of
}
