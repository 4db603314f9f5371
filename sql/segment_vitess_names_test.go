package sql_test

import "testing"

// TestSegmentNamesHaveTheChosenBytes checks the names of segments of bytea and integer keys, which
// are those of Vitess, and that other keys are named by their encoding.
func TestSegmentNamesHaveTheChosenBytes(t *testing.T) {
	c := newWorld(t).connect(t)
	for _, q := range []struct{ name, key, splits, want string }{
		{"b", "bytea", `\x40,\x80,\xc0`, "-40\n40-80\n80-c0\nc0-"},
		{"zeros", "bytea", `\x0001,\x0100`, "-0001\n0001-0100\n0100-"},
		{"i8", "bigint", "4611686018427387904", "-40\n40-"},
		{"i4", "int", "0,256,1073741824", "-00\n00-000001\n000001-40\n40-"},
		{"i2", "smallint", "100", "-0064\n0064-"},
		{"negative", "int", "-1,100", "-27ff\n27ff-2964\n2964-"},
		{"texts", "text", "a", "-40610001\n40610001-"},
	} {
		c.want("CREATE TABLE "+q.name+" (id "+q.key+" PRIMARY KEY) WITH (shard_by = 'range', "+
			"shard_splits = '"+q.splits+"')", "CREATE TABLE")
		got := c.answer("SELECT segment FROM sherd.segments WHERE collection = '" + q.name +
			"'::regclass ORDER BY bucket")
		if want := q.want + "\nSELECT "; len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("%s:\n%s", q.name, got)
		}
	}
}
