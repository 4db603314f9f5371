package table

import (
	"encoding/binary"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// RowKey is a primary key from a client: a value for each of its columns, or one text in which they
// are joined by "/".
type RowKey struct {
	Values []types.Datum
	Types  []types.OID
}

// BucketOfKey returns the bucket of the row with this primary key: a value for each column,
// converted to the column's type like a literal. One text may contain the values of several
// columns, separated by "/"; only the last value may contain "/" itself.
func BucketOfKey(def *catalog.Table, key RowKey, env *types.Env) (shardmap.Bucket, error) {
	t, err := New(def)
	if err != nil {
		return 0, err
	}
	if len(t.Key) == 0 {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, `table "%s" has no primary key`, def.Name)
	}
	joined := len(key.Values) == 1 && len(t.Key) > 1
	if joined {
		key = splitKey(key, len(t.Key), env)
	}
	if n := len(key.Values); n != len(t.Key) {
		return 0, pgerr.New(pgerr.InvalidParameterValue,
			`the primary key of table "%s" has %d columns, but %d values were given`, def.Name, len(t.Key), n).
			WithHint("Give one argument for each column of the key.")
	}
	keys := make(types.Row, len(t.Key))
	for i, at := range t.Key {
		c := &def.Columns[at]
		if keys[i] = key.Values[i]; key.Types[i] == c.Type {
			continue
		}
		text := types.Output(key.Types[i], key.Values[i], env)
		if keys[i], err = types.Input(c.Type, c.Typmod, text, env); err != nil {
			if joined {
				return 0, pgerr.From(err).WithHint("Give one argument for each column of the key.")
			}
			return 0, err
		}
	}
	if def.Anchors {
		return def.Prefixes.BucketOf(keys[0].S)
	}
	b, _, err := t.BucketOf(keys)
	return b, err
}

// BucketOfText is BucketOfKey for one text.
func BucketOfText(def *catalog.Table, key string, env *types.Env) (shardmap.Bucket, error) {
	k := RowKey{Values: []types.Datum{types.NewText(key)}, Types: []types.OID{types.Text}}
	return BucketOfKey(def, k, env)
}

// splitKey splits a key whose values are separated by "/".
func splitKey(key RowKey, columns int, env *types.Env) (out RowKey) {
	for _, part := range strings.SplitN(types.Output(key.Types[0], key.Values[0], env), "/", columns) {
		out.Values, out.Types = append(out.Values, types.NewText(part)), append(out.Types, types.Unknown)
	}
	return out
}

// TextOfKey returns the primary key in a row's key in the form that BucketOfText reads; ok is false
// if it is not the key of a row, or the table has no primary key.
func TextOfKey(def *catalog.Table, key []byte, env *types.Env) (text string, ok bool) {
	t, err := New(def)
	if err != nil || len(t.Key) == 0 || len(key) < KeyAt || binary.BigEndian.Uint32(key[4:]) != 0 {
		return "", false
	}
	rest := key[KeyAt:]
	parts := make([]string, 0, len(t.Key))
	for _, at := range t.Key {
		c := &def.Columns[at]
		d, tail, err := types.DecodeKey(c.Type, rest, false)
		if err != nil {
			return "", false
		}
		rest = tail
		parts = append(parts, types.Output(c.Type, d, env))
	}
	return strings.Join(parts, "/"), true
}

// StorageIDOfKey returns the storage id of the table that a key belongs to, 0 if there is none.
func StorageIDOfKey(key []byte) uint32 {
	if len(key) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(key)
}

// Storage identifies a table by where its rows are.
type Storage struct {
	Fragment, ID uint32
}

// TablesByStorage returns the tables of all databases.
func TablesByStorage(view *catalog.View) map[Storage]*catalog.Table {
	out := map[Storage]*catalog.Table{}
	for d := range view.Databases() {
		for t := range view.Tables(d.OID) {
			for i := range d.Fragments {
				out[Storage{d.Fragments[i].ID, t.StorageID}] = t
			}
		}
	}
	return out
}
