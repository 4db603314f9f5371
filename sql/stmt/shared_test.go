package stmt

import (
	"fmt"
	"testing"

	"github.com/sherddb/sherd/sql/parse/shape"
	"github.com/sherddb/sherd/sql/query"
)

// sharedText asks for the shared program of a text.
func (c *Compiler) sharedText(t *testing.T, text string) (*Program, int) {
	t.Helper()
	x, ok := shape.Split(text)
	if !ok {
		t.Fatalf("%s has no shape", text)
	}
	p, args := c.Shared(&x)
	return p, len(args)
}

// TestShared: from the second text of a shape on there is a program for all; a text that comes again
// keeps its plan if each has its own.
func TestShared(t *testing.T) {
	c := newCompiler(t)
	text := func(i int) string { return fmt.Sprintf("SELECT relname FROM pg_class WHERE relpages = %d LIMIT 1", i) }
	if p, _ := c.sharedText(t, text(1)); p != nil {
		t.Error("the first text shares a program")
	}
	for i := 2; i < 5; i++ {
		p, args := c.sharedText(t, text(i))
		if p == nil || args != 1 || len(p.Params) != 0 || p.Statement.Text() != text(i) || p.Generic() != p {
			t.Fatalf("%s: %+v with %d arguments", text(i), p, args)
		}
		params := 0
		query.WalkQuery(p.Query, func(e query.Expr, _ int) {
			if _, ok := e.(*query.Param); ok {
				params++
			}
		})
		if params != 0 {
			t.Errorf("%s was not planned for its literal", text(i))
		}
	}
	c.sharedText(t, text(2))
	p, _ := c.sharedText(t, text(2))
	if again, _ := c.sharedText(t, text(2)+";"); again != p {
		t.Error("a text that came again was planned again")
	}
	if p, _ := c.Against(c.View).sharedText(t, text(2)); p != nil {
		t.Error("definitions that are not in force got a program from the cache")
	}
	for _, text := range []string{
		"SELECT 1", "SELECT 1 FROM pg_class ORDER BY 1", "SELECT 1 INTO x", "SELECT relpages FROM missing WHERE a = 1",
		"SELECT relname FROM pg_class WHERE oid = 'pg_class'::regclass",
	} {
		for range 3 {
			if p, _ := c.sharedText(t, text); p != nil {
				t.Errorf("%s shares a program", text)
			}
		}
	}
}
