package sql_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestPolicyAdvice: Sherd advises the policy that suits the statements. The advice has the
// documents that the policy would refuse, and the number of statements that it would keep in one
// fragment.
func TestPolicyAdvice(t *testing.T) {
	a := newWorld(t).connect(t)
	a.want("CREATE TABLE orders (id text PRIMARY KEY, doc jsonb NOT NULL)", "CREATE TABLE")
	var rows []string
	for i := range 600 {
		note := ""
		if i%3 == 0 {
			note = `, "Note": "n"`
		}
		rows = append(rows, fmt.Sprintf(`('orders/%d-A', '{"Customer": "customers/%d-A", "Country": "c%d"%s}')`,
			i, i%60, i%2, note))
	}
	a.want("INSERT INTO orders VALUES "+strings.Join(rows, ","), "INSERT 0 600")
	for i := range 5 {
		a.want(fmt.Sprintf("SELECT count(*) FROM orders WHERE doc->>'Customer' = 'customers/%d-A'", i), "10\nSELECT 1")
	}
	a.want("SELECT count(*) FROM orders WHERE id = 'orders/7-A'", "1\nSELECT 1")
	a.want("SELECT count(*) FROM orders", "600\nSELECT 1")

	const of = "SELECT policy->'Fields'->>0, rejected, misplaced, distinct_values, statements, one_fragment, " +
		"one_fragment_now FROM sherd.policy_advice('orders')"
	a.want(of+" LIMIT 1", "Customer|0|600|60|7|6|1\nSELECT 1")
	a.want(of+" WHERE policy->'Fields'->>0 = 'id()'", "id()|0|0|600|7|1|1\nSELECT 1")
	if got := a.answer(
		"SELECT advice FROM sherd.policy_advice('orders') WHERE policy->'Fields'->>0 = 'Country'",
	); !strings.Contains(got, "only 2 values: too few for 3 fragments") {
		t.Error(got)
	}
	if got := a.answer(
		`SELECT rejected, advice FROM sherd.policy_advice('orders', '{"Fields": ["Note"]}')`,
	); !strings.HasPrefix(got, "400|400 of 600 documents would be refused, as ") {
		t.Error(got)
	}
	if got := a.answer(
		`SELECT buckets > 60, largest_documents < 10 FROM sherd.policy_advice('orders', '{"Fields": ["Customer"], ` +
			`"Range": 1000}')`,
	); got != "t|t\nSELECT 1" {
		t.Error(got)
	}
	a.want(`SELECT * FROM sherd.policy_advice('orders', '{"Fields": []}')`,
		"a sharding policy needs at least one field (SQLSTATE 22023)")
	a.want("CREATE TABLE plain (a int)", "CREATE TABLE")
	a.want("SELECT * FROM sherd.policy_advice('plain')",
		`table "plain" has no primary key, so that it cannot have a sharding policy (SQLSTATE 55000)`)
	a.want("CREATE TABLE lines (o int, n int, PRIMARY KEY (o, n))", "CREATE TABLE")
	a.want("INSERT INTO lines SELECT g / 10, g % 10 FROM generate_series(1, 500) g", "INSERT 0 500")
	a.want("SELECT policy->'Fields'->>0, documents, misplaced FROM sherd.policy_advice('lines') ORDER BY 1",
		"id()|500|0\nn|500|500\no|500|500\nSELECT 3")

	// Segments of a range table are buckets of the database too.
	a.want("CREATE TABLE events (id text PRIMARY KEY, v int) WITH (shard_by = 'range', shard_splits = 'g,p')",
		"CREATE TABLE")
	a.want("SELECT policy->'Fields'->>0, documents FROM sherd.policy_advice('orders') LIMIT 1",
		"Customer|600\nSELECT 1")
	a.want("SELECT * FROM sherd.policy_advice('events')",
		`rows of table "events" lie by ranges of their keys, not by a sharding policy (SQLSTATE 55000)`)
}
