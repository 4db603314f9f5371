package exec

import (
	"encoding/binary"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// BucketOfText gives the bucket of the row of a table whose primary key has this text: an id, or the key's values joined by "/", each as
// its type reads it. Only the last of several may contain "/" itself.
func BucketOfText(def *catalog.Table, key string, env *types.Env) (shardmap.Bucket, error) {
	t, err := newTable(def)
	if err != nil {
		return 0, err
	}
	if def.Anchors {
		return def.Prefixes.BucketOf(key)
	}
	if len(t.key) == 0 {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, `table "%s" has no primary key`, def.Name)
	}
	parts := strings.SplitN(key, "/", len(t.key))
	if len(parts) < len(t.key) {
		return 0, pgerr.New(pgerr.InvalidParameterValue, `the primary key of table "%s" has %d columns, "%s" gives %d`,
			def.Name, len(t.key), key, len(parts)).WithHint(`Separate the values by "/".`)
	}
	keys := make(Row, len(t.key))
	for i, at := range t.key {
		c := &def.Columns[at]
		if keys[i], err = types.Input(c.Type, c.Typmod, parts[i], env); err != nil {
			return 0, err
		}
	}
	b, err := t.bucketOf(keys)
	return b.at, err
}

// TextOfKey gives the primary key in a row's key as BucketOfText reads it; ok is false for what is no row's key, or has none.
func TextOfKey(def *catalog.Table, key []byte, env *types.Env) (text string, ok bool) {
	t, err := newTable(def)
	if err != nil || len(t.key) == 0 || len(key) < keyAt || binary.BigEndian.Uint32(key[4:]) != 0 {
		return "", false
	}
	rest := key[keyAt:]
	parts := make([]string, 0, len(t.key))
	for _, at := range t.key {
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

// StorageIDOfKey gives the storage id of the table that a key belongs to, 0 for what is none.
func StorageIDOfKey(key []byte) uint32 {
	if len(key) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(key)
}
