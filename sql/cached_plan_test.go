package sql_test

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TestCachedPlanRoutine changes the columns of a prepared statement. Drivers prepare the statement
// again if the error comes from PostgreSQL's RevalidateCachedQuery, and fail if it does not.
func TestCachedPlanRoutine(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE changed (id text PRIMARY KEY, a int)", "CREATE TABLE")
	must(t, c.s.Parse(t.Context(), "all", "SELECT * FROM changed", nil))
	c.want("ALTER TABLE changed ADD COLUMN b int", "ALTER TABLE")
	must(t, c.s.Bind(t.Context(), "", "all", nil))
	_, err := c.s.DescribePortal(t.Context(), "")
	if e := pgerr.From(err); err == nil || e.Code != pgerr.FeatureNotSupported || e.Routine != "RevalidateCachedQuery" {
		t.Errorf("%v, routine %q", err, e.Routine)
	}
}
