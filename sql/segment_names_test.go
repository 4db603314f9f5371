package sql_test

import "testing"

// TestMovedSegmentsAreNamed: what becomes of segments is told by their table and keys, also when these segments, and then the table, are there no more.
func TestMovedSegmentsAreNamed(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE r (id int PRIMARY KEY, v int) WITH (shard_by = 'range', shard_splits = '100,200')", "CREATE TABLE")
	c.want("CREATE TABLE s (id text PRIMARY KEY) WITH (shard_by = 'range')", "CREATE TABLE")
	c.want("INSERT INTO r SELECT g, g FROM generate_series(1, 300) g", "INSERT 0 300")
	const named = "r: 00000064-000000c8 [100, 200)"
	for _, f := range []string{"postgres$0", "postgres$1"} {
		if c.answer("SELECT fragment FROM sherd.segments WHERE lower = '100'") != f+"\nSELECT 1" {
			c.want("SELECT sherd.move_segment('r', '150', '"+f+"', wait => true) IS NULL", "f\nSELECT 1")
			break
		}
	}
	history := "SELECT DISTINCT what, outcome FROM sherd.move_history ORDER BY 1"
	changes := "SELECT DISTINCT subject, split_part(change, ' to ', 1) FROM sherd.changelog WHERE kind IN ('move', 'pin') ORDER BY 1, 2"
	c.want(history, named+"|done\nSELECT 1")
	c.want(changes, named+"|move done\nSELECT 1")
	c.want("SELECT sherd.pin('postgres', bucket, bucket + 1, fragment) FROM sherd.segments WHERE lower = '100'", "\nSELECT 1")
	c.want("SELECT sherd.split_segment('r', '150')", "\nSELECT 1")
	c.want("SELECT sherd.unpin('postgres', first_bucket, end_bucket) FROM sherd.pins", "\n\nSELECT 2")
	c.want(history, named+"|done\nr: split at 150|done\nSELECT 2")
	c.want("ALTER TABLE r RENAME TO renamed", "ALTER TABLE")
	c.want(history, named+"|done\nr: split at 150|done\nSELECT 2")
	c.want("DROP TABLE renamed", "DROP TABLE")
	c.want(history, "r: 2964-29c8|done\nr: split at 150|done\nSELECT 2")
	c.want(changes, "r: 00000064-00000096|unpinned\nr: 00000064-000000c8|pinned\nr: 00000096-000000c8|unpinned\nr: 2964-29c8|move done\nr: split at 150|move done\nSELECT 5")
}
