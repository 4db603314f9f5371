package sql_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/sql/txblock"
)

// user uses documents by their first ids, while they get others.
type user struct {
	*client
	t     *testing.T
	ids   []string
	added *atomic.Int64 // increments that have committed
}

// try runs a query string, and repeats it as long as it conflicts with others.
func (u *user) try(text string) string {
	for {
		got := u.answer(text)
		if u.s.Status() != txblock.Idle {
			u.answer("ROLLBACK")
		}
		if !strings.Contains(got, "40001") && !strings.Contains(got, "40P01") {
			return got
		}
	}
}

func (u *user) expect(text, want string) {
	if got := u.try(text); got != want {
		u.t.Errorf("%s\ngot %s\nwant %s", text, got, want)
	}
}

// step uses one document in the nth way.
func (u *user) step(n int) {
	id := u.ids[n*7919%len(u.ids)]
	add := fmt.Sprintf("UPDATE orders SET doc = jsonb_set(doc, '{C}', to_jsonb((doc->>'C')::int + 1)) WHERE id = '%s'",
		id)
	one := fmt.Sprintf("SELECT count(*) FROM orders WHERE id = '%s'", id)
	switch n % 7 {
	case 0:
		u.expect(add, "UPDATE 1")
		u.added.Add(1)
	case 1, 2:
		level := []string{"REPEATABLE READ", "SERIALIZABLE"}[n%2]
		u.expect("BEGIN ISOLATION LEVEL "+level+"; "+one+"; "+add+"; COMMIT", "BEGIN\n1\nSELECT 1\nUPDATE 1\nCOMMIT")
		u.added.Add(1)
	case 3:
		u.expect(fmt.Sprintf("SELECT count(*) FROM (SELECT FROM orders WHERE id = '%s' FOR UPDATE) s", id),
			"1\nSELECT 1")
	case 4:
		u.expect(fmt.Sprintf("INSERT INTO invoices VALUES (gen_random_uuid(), '%s')", id), "INSERT 0 1")
	case 5:
		u.expect(fmt.Sprintf("SELECT count(*), count(DISTINCT o.id) FROM orders o, (VALUES ('%s'), ('%s')) v(k) "+
			"WHERE o.id = v.k", id, u.ids[0]), "2|"+map[bool]string{true: "1", false: "2"}[id == u.ids[0]]+"\nSELECT 1")
	case 6:
		u.expect("SELECT count(*) FROM orders", fmt.Sprintf("%d\nSELECT 1", len(u.ids)))
	}
}

// TestReplaceBesideWriters changes the ids of documents twice, and then back to the first ones,
// while clients use the documents by their first ids at all isolation levels. The job that changes
// them stops and goes on.
func TestReplaceBesideWriters(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	const documents = 150
	c.badPolicy(documents)
	// so that documents can be changed before they have their other ids
	c.answer("ALTER TABLE orders SET (shard_mutable = true)")
	c.want(`UPDATE orders SET doc = doc || '{"C": 0}'`, fmt.Sprintf("UPDATE %d", documents))
	c.want("CREATE TABLE invoices (n uuid PRIMARY KEY, order_id text REFERENCES orders)", "CREATE TABLE")
	ids := strings.Split(strings.TrimSuffix(c.answer("SELECT id FROM was ORDER BY n"),
		fmt.Sprintf("\nSELECT %d", documents)), "\n")
	var added atomic.Int64
	var stop atomic.Bool
	var users sync.WaitGroup
	for i := range 4 {
		u := &user{client: w.connect(t), t: t, ids: ids, added: &added}
		users.Go(func() {
			for n := i * 3; !stop.Load() && !t.Failed(); n++ {
				u.step(n)
			}
		})
	}
	c.want("ALTER SYSTEM SET sherd.replace_rate = 1000", "ALTER SYSTEM")
	for _, policy := range []string{"Region", "Customer", "N"} {
		c.answer("ALTER TABLE orders SET (shard_by = '" + policy + "', shard_mutable = true)")
		const moved = "SELECT string_agg(id, ',' ORDER BY id) FROM orders"
		before := c.one(moved)
		c.answer("SELECT sherd.replace_placement('orders')")
		for part := range 2 {
			halt := w.runJobs(t)
			if part == 0 { // the process dies, or another node leads
				for begun := time.Now(); time.Since(begun) < 20*time.Second && c.one(moved) == before; {
				}
			} else {
				if got := c.ended(); strings.Contains(got, "failed") || strings.Contains(got, "stay") {
					t.Error(got)
				}
			}
			halt()
		}
		c.answer("ALTER TABLE orders SET (shard_mutable = false)")
		c.want("ALTER TABLE orders VALIDATE CONSTRAINT sharding", "ALTER TABLE")
	}
	stop.Store(true)
	users.Wait()
	c.want("SELECT count(*), sum((doc->>'C')::int) FROM orders",
		fmt.Sprintf("%d|%d\nSELECT 1", documents, added.Load()))
	c.want("SELECT count(*) FROM invoices i WHERE NOT EXISTS (SELECT FROM orders o WHERE o.id = i.order_id)",
		"0\nSELECT 1")
	c.want("SELECT count(*) FROM was x JOIN orders o ON o.id = x.id AND o.doc->>'N' = x.n::text",
		fmt.Sprintf("%d\nSELECT 1", documents))
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	t.Logf("%d increments", added.Load())
}
