package plan_test

import (
	"testing"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
)

// batched are statements with parts that run for each row, and the tasks to which they lead on three
// fragments if these parts are read for many rows at once.
var batched = []struct {
	text  string
	tasks int64
}{
	{"SELECT t.id, (SELECT p.id FROM people p WHERE p.grp = t.id ORDER BY p.n LIMIT 1) FROM things t", 6},
	{"SELECT t.id FROM things t WHERE t.id < 3 OR EXISTS (SELECT FROM people p WHERE p.grp = t.id AND p.n > t.id)", 6},
	{"SELECT t.id FROM things t WHERE t.id < ANY (SELECT p.n FROM people p WHERE p.grp = t.id)", 6},
	{"SELECT t.id, ARRAY(SELECT p.n FROM people p WHERE p.grp = t.id ORDER BY 1) FROM things t", 6},
	{"SELECT c.id, (SELECT array_agg(o.id ORDER BY o.id) FROM orders o WHERE o.doc ->> 'Customer' = c.id) FROM customers c", 6},
	{"SELECT t.id, x.id FROM things t, LATERAL (SELECT id FROM people p WHERE p.grp = t.id ORDER BY n LIMIT 2) x", 6},
	{"SELECT t.id, x.n FROM things t LEFT JOIN LATERAL (SELECT n FROM people p WHERE p.grp = t.id ORDER BY n LIMIT 2) x ON true", 6},
	{"UPDATE things SET big = (SELECT p.n FROM people p WHERE p.grp = things.id ORDER BY p.n LIMIT 1)", 9},
	{"SELECT t.id, (SELECT array_agg(p.n ORDER BY p.n) FROM people p, customers c WHERE p.grp = t.id) FROM things t", 9},
}

// TestBatches: parts that run for each row lead to one task per fragment for all of them, with the
// same rows as if each had tasks of its own; and if there is room for few rows only.
func TestBatches(t *testing.T) {
	ctx := testContext(t)
	d := loadedDatabase(t, ctx, 3)
	const people = "INSERT INTO people SELECT 'people/' || i, NULL, 'm' || i, i * 7 % 23, i % 17 FROM generate_series(1, 100) i"
	if a := d.answer(ctx, people); a != "(100)" {
		t.Fatal(a)
	}
	few := withRows(func(string) (float64, bool) { return 50, true })
	run := func(text string, change func(*plan.Env)) (string, int64) {
		before := d.tasks.Load()
		rows := d.answer(ctx, text, few, change)
		return rows, d.tasks.Load() - before
	}
	for _, c := range batched {
		want, apart := run(c.text, func(env *plan.Env) { env.Off.Batch = true })
		got, together := run(c.text, func(*plan.Env) {})
		if got != want || together != c.tasks || apart < 2*c.tasks {
			t.Errorf("%s\n%d tasks, and %d without batches:\n%s\n-- without batches:\n%s", c.text, together, apart, got, want)
		}
		d.memory = memory.Limits{Query: 256 << 20, Work: 1 << 10, Files: -1}
		if small, _ := run(c.text, func(*plan.Env) {}); small != want {
			t.Errorf("%s\nwith little memory:\n%s\n-- without batches:\n%s", c.text, small, want)
		}
		d.memory = memory.Limits{Query: 256 << 20, Files: -1}
	}
}
