package sql_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestSlicesHaveEachRowOnce reads tables by intervals of buckets, written in several ways: together
// the intervals have each row once, whatever its key is.
func TestSlicesHaveEachRowOnce(t *testing.T) {
	_, c := prefixWorld(t)
	const odd = `('$'), ('a$'), ('a$$'), ('a$b'), ('b$@7'), ('b$@07'), ('b$@99999999'), ('eu/1'), ('x$eu/1'), ` +
		`(''), ('$5')`
	c.want(`CREATE TABLE off (id text PRIMARY KEY, doc jsonb) WITH (anchors = off); CREATE TABLE ranged (id text PRIMARY KEY, doc jsonb)
		WITH (shard_by = 'range', shard_splits = 'b'); CREATE TABLE relational (id text PRIMARY KEY, n int); CREATE TABLE composite (id text, n int, PRIMARY KEY (id, n))`,
		strings.TrimSuffix(strings.Repeat("CREATE TABLE\n", 4), "\n"))
	for _, table := range []string{"off", "ranged", "relational"} {
		c.want("INSERT INTO "+table+" VALUES "+odd, "INSERT 0 11")
	}
	c.want("INSERT INTO composite SELECT id, 1 FROM off", "INSERT 0 11")
	c.want(`INSERT INTO orders VALUES ('o/1$', '{"Customer": "eu/7"}') RETURNING sherd.bucket('orders', id) >= 1048576`,
		"t\nINSERT 0 1")
	c.want(`INSERT INTO orders SELECT 'o/' || g || '$', jsonb_build_object('Customer', 'us/' || g) `+
		`FROM generate_series(2, 40) g`, "INSERT 0 39")
	c.want(`INSERT INTO customers SELECT 'c/' || g, '{}' FROM generate_series(1, 40) g`, "INSERT 0 40")
	for table, want := range map[string]int{"off": 11, "ranged": 11, "relational": 11, "composite": 11,
		"orders": 40, "customers": 40} {
		for _, f := range []string{"sherd.bucket(id)", "sherd.slice(id)"} {
			for _, how := range []string{
				"F >= %d AND F < %d", "F BETWEEN %d AND %d - 1", "F > %d - 1 AND F <= %d - 1", "%d <= F AND %d > F",
				"F > %d::bigint - 1 AND %d::bigint > F",
			} {
				got := 0
				for _, v := range [][2]int{{0, 5}, {5, 131072}, {131072, 524288}, {524288, 982174}, {982174, 1048576}} {
					text := "SELECT count(*) FROM " + table + " WHERE " +
						strings.ReplaceAll(fmt.Sprintf(how, v[0], v[1]), "F", f)
					n, _, _ := strings.Cut(c.answer(text), "\n")
					rows, err := strconv.Atoi(n)
					if err != nil {
						t.Fatal(text, n)
					}
					got += rows
				}
				if got != want {
					t.Errorf("%s of %s: %d rows of %d", how, table, got, want)
				}
			}
		}
	}
}

// TestBucketIntervalsPrune checks that each way to write an interval of buckets reads only these.
func TestBucketIntervalsPrune(t *testing.T) {
	c := newWorld(t).connect(t)
	c.want("CREATE TABLE t (id text PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	for where, want := range map[string]string{
		"sherd.bucket(id) BETWEEN 100 AND 199":                       "buckets: [100,200)",
		"sherd.bucket(id) > 99 AND sherd.bucket(id) <= 199":          "buckets: [100,200)",
		"100 <= sherd.slice(id) AND 200 > sherd.slice(id)":           "buckets: [100,200)",
		"sherd.bucket(id) >= 100 AND sherd.bucket(id) < 200::bigint": "buckets: [100,200)",
		"sherd.bucket(id) > 1048570":                                 "buckets: [1048571,1048576)",
		"sherd.bucket(id) <= 2147483647":                             "buckets: all",
		"sherd.bucket(id) <= 9223372036854775807":                    "buckets: all",
		"sherd.bucket(id) > 2147483647":                              "fragments: none",
		"7 = sherd.bucket(id)":                                       "buckets: 7",
		"sherd.bucket(id) > NULL::int":                               "One-Time Filter: false",
	} {
		if got := c.answer("EXPLAIN (COSTS OFF) SELECT * FROM t WHERE " + where); !strings.Contains(got, want) {
			t.Errorf("%s: %s", where, got)
		}
	}
	c.want("PREPARE p(int, bigint) AS SELECT count(*) FROM t WHERE sherd.bucket(id) > $1 AND sherd.bucket(id) <= $2",
		"PREPARE")
	c.want("INSERT INTO t VALUES ('x$@0', '{}'), ('x$@5', '{}'), ('x$@6', '{}'), ('x$@1048575', '{}')", "INSERT 0 4")
	c.want("EXECUTE p(0, 5)", "1\nSELECT 1")
	c.want("EXECUTE p(-1, 9223372036854775807)", "4\nSELECT 1")
	c.want("EXECUTE p(2147483647, 5)", "0\nSELECT 1")
	c.want("EXECUTE p(NULL, 5)", "0\nSELECT 1")
}
