package exec

import (
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
		return shardmap.BucketOf(key)
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
