package table

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
	t, err := New(def)
	if err != nil {
		return `Something of relation "` + def.Name + `"`
	}
	return pgerr.Capital(t.NameOf(env, key))
}

// NameOf is NameOfKey within a sentence.
func (t *Table) NameOf(env *types.Env, key []byte) string {
	if len(key) < entryAt {
		return `something of relation "` + t.Def.Name + `"`
	}
	number := binary.BigEndian.Uint32(key[4:])
	switch {
	case number == 0 && len(key) >= KeyAt:
		return t.RowName(env, key)
	case number == t.Order:
		return t.RowName(env, append(make([]byte, KeyAt), key[entryAt:]...))
	}
	for i := range t.Def.Indexes {
		if x := &t.Def.Indexes[i]; x.StorageID == number {
			return t.entryName(x, key, env)
		}
	}
	return `an index entry of relation "` + t.Def.Name + `"`
}

func (t *Table) entryName(x *catalog.Index, key []byte, env *types.Env) string {
	of := ` of index "` + x.Name + `"`
	rest := key[entryAt:]
	if x.Global && len(rest) >= KeyAt-generationAt {
		rest = rest[generationAt-bucketAt:]
	}
	var names, values []string
	for i, att := range x.Columns {
		if att <= 0 || int(att) > len(t.Def.Columns) {
			return "an entry" + of
		}
		col := &t.Def.Columns[att-1]
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

// RowName is a row as messages call it: key (id)=(orders/1-A) of relation "orders".
func (t *Table) RowName(env *types.Env, key []byte) string {
	names, values, ok := t.keyText(env, key)
	name := "row"
	if ok {
		name = "key (" + names + ")=(" + values + ")"
	}
	return name + ` of relation "` + t.Def.Name + `"`
}

// keyText decodes the primary key in a row's key; ok is false if the table has none.
func (t *Table) keyText(env *types.Env, key []byte) (names, values string, ok bool) {
	if len(t.Key) == 0 || len(key) < KeyAt {
		return "", "", false
	}
	rest := key[KeyAt:]
	var ns, vs []string
	for _, i := range t.Key {
		col := &t.Def.Columns[i]
		d, tail, err := types.DecodeKey(col.Type, rest, false)
		if err != nil {
			return "", "", false
		}
		rest = tail
		ns, vs = append(ns, col.Name), append(vs, types.Output(col.Type, d, env))
	}
	return strings.Join(ns, ", "), strings.Join(vs, ", "), true
}
