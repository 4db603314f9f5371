package sql_test

import (
	"strings"
	"testing"
)

// TestReshardingRefusals: what the functions of docs/resharding.md refuse, they name as people do, and say what would do.
func TestReshardingRefusals(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE r (n int PRIMARY KEY) WITH (shard_by = 'range', shard_splits = '100')", "CREATE TABLE")
	c.want("CREATE TABLE plain (id text PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	c.want("CREATE TABLE bare (n int)", "CREATE TABLE")
	fragment, _, _ := strings.Cut(c.answer("SELECT fragment FROM sherd.segments WHERE lower IS NULL"), "\n")
	c.want("SELECT sherd.move_segment('r', '7', '"+fragment+"')", `segment r: -00000064 is in fragment "`+fragment+`" already (SQLSTATE 55000)`)
	c.want("SELECT sherd.split_segment('r', 'x')",
		`invalid input syntax for type integer: "x" (SQLSTATE 22P02): "x" is read as column "n" of the primary key, where a segment is to begin.`)
	c.want("SELECT sherd.isolate_anchor('')", "an anchor must not be empty (SQLSTATE 22023)")
	c.want("SELECT sherd.move_anchor('', 'postgres$1')", "an anchor must not be empty (SQLSTATE 22023)")
	c.want("SELECT sherd.split_range('postgres', 0)", "a range cannot be split at bucket 0 (SQLSTATE 22023): A range begins there.")
	c.want("SELECT sherd.hot_split('bare', '1', 4, '{n}')", `documents of table "bare" cannot be split: it has no primary key (SQLSTATE 0A000)`)
	c.want(`SELECT sherd.policy_advice('plain', '{"Fields": 3}')`, `invalid sharding policy "{"Fields": 3}" (SQLSTATE 22023): A JSON number is no value of Fields.`)
	c.want("SELECT count(*) FROM sherd.fragments", "3\nSELECT 1")
}
