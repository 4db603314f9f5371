package sql_test

import (
	"testing"
)

// TestDefinitionsInPipeline: the definitions and rows of a pipeline are committed by its Sync, or
// undone with its last statement.
func TestDefinitionsInPipeline(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	send := func(text string) error {
		if err := a.s.Parse(t.Context(), "", text, nil); err != nil {
			return err
		}
		if err := a.s.Bind(t.Context(), "", "", nil); err != nil {
			return err
		}
		_, err := a.s.Execute(t.Context(), "", 0, &recorder{env: a.s.Env})
		return err
	}
	for _, last := range []string{"INSERT INTO pl VALUES (1)", "INSERT INTO pl VALUES (2)"} {
		for _, text := range []string{"CREATE TABLE pl (id int PRIMARY KEY)", "INSERT INTO pl VALUES (1)"} {
			if err := send(text); err != nil {
				t.Fatal(text, err)
			}
		}
		b.want("SELECT count(*) FROM pg_class WHERE relname = 'pl'", "0\nSELECT 1")
		_ = send(last)
		if err := a.s.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.want("SELECT * FROM pl ORDER BY id", "1\n2\nSELECT 2")
}

// later runs a statement that has to wait, and returns a function that waits for its answer.
func later(t *testing.T, c *client, text string) func() string {
	t.Helper()
	got := c.background(c.w, text)
	return func() string { return <-got }
}
