package sql_test

import (
	"strings"
	"testing"
)

// TestReplacedWhileOneWaits: a document gets another id while a statement waits for it, for every
// kind of statement at every isolation level. No statement misses it.
func TestReplacedWhileOneWaits(t *testing.T) {
	w := newWorld(t)
	stop := w.runJobs(t)
	a := w.connect(t)
	a.want("CREATE TABLE was (n int)", "CREATE TABLE")
	a.want("CREATE TABLE orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'C', shard_mutable = true)",
		"CREATE TABLE")
	a.want("CREATE TABLE invoices (n int, order_id text REFERENCES orders)", "CREATE TABLE")
	a.answer("SELECT sherd.replace_placement('orders')")
	a.ended()
	stop()
	entries := a.one("SELECT 'pg_forwarding.of_' || 'orders'::regclass::oid")
	const rc, rr, ser = "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"
	const late = "SQLSTATE 40001"
	for _, c := range []struct{ level, text, want string }{
		{rc, "UPDATE orders SET doc = '{\"x\": 1}' WHERE id = 'OLD' RETURNING id, doc", "NEW|{\"x\": 1}\nUPDATE 1"},
		{rc, "DELETE FROM orders WHERE id = 'OLD' RETURNING id", "NEW\nDELETE 1"},
		{rc, "SELECT id FROM orders WHERE id = 'OLD' FOR UPDATE", "NEW\nSELECT 1"},
		{rc, "SELECT id FROM orders WHERE id IN ('OLD', 'none') FOR SHARE", "NEW\nSELECT 1"},
		{
			rc, "SELECT v.k, o.id FROM (VALUES ('OLD')) v(k) JOIN orders o ON o.id = v.k FOR UPDATE OF o",
			"OLD|NEW\nSELECT 1",
		},
		{
			rc, "UPDATE orders o SET doc = '{\"x\": 2}' FROM (VALUES ('OLD')) v(k) WHERE o.id = v.k RETURNING o.id",
			"NEW\nUPDATE 1",
		},
		{rc, "UPDATE orders SET doc = '{\"x\": 3}' WHERE doc->>'M' = 'OLD' RETURNING id", "NEW\nUPDATE 1"},
		{rc, "INSERT INTO invoices VALUES (1, 'OLD')", "INSERT 0 1"},
		{rc, "INSERT INTO orders VALUES ('OLD', '{}')", "23505"},
		{
			rc,
			"INSERT INTO orders VALUES ('OLD', '{}') ON CONFLICT (id) DO UPDATE SET doc = orders.doc || '{\"y\": 1}'",
			"INSERT 0 1",
		},
		{rr, "UPDATE orders SET doc = '{\"x\": 1}' WHERE id = 'OLD'", late},
		{rr, "SELECT id FROM orders WHERE id = 'OLD' FOR UPDATE", late},
		{rr, "DELETE FROM orders WHERE id = 'OLD'", late},
		{rr, "INSERT INTO invoices VALUES (1, 'OLD')", late},
		{ser, "UPDATE orders SET doc = '{\"x\": 1}' WHERE id = 'OLD'", late},
		{ser, "DELETE FROM orders WHERE id = 'OLD'", late},
	} {
		t.Run(strings.ToLower(c.level)+" "+c.text, func(t *testing.T) {
			a, b := w.connect(t), w.connect(t)
			a.answer("DELETE FROM invoices")
			a.answer("DELETE FROM orders")
			a.want("INSERT INTO orders VALUES ('o/1-A', '{\"M\": \"o/1-A\"}')", "INSERT 0 1")
			named := strings.NewReplacer("OLD", "o/1-A", "NEW", "o/1-A$@5")
			// as the job does it
			a.want("BEGIN; UPDATE orders SET id = 'o/1-A$@5' WHERE id = 'o/1-A'; "+
				"INSERT INTO "+entries+" VALUES ('o/1-A', 'o/1-A$@5')", "BEGIN\nUPDATE 1\nINSERT 0 1")
			b.answer("BEGIN ISOLATION LEVEL " + c.level)
			b.want("SELECT count(*) FROM was", "0\nSELECT 1") // takes the snapshot
			done := b.background(w, named.Replace(c.text))
			a.want("COMMIT", "COMMIT")
			got := <-done
			if want := named.Replace(c.want); got != want &&
				(len(c.want) > 14 && c.want != late || !strings.Contains(got, want)) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			b.answer("COMMIT")
			a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
			a.answer("DELETE FROM invoices")
		})
	}
}
