package catalog

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TestAnswered: who cancels a change at whatever moment is told whether it was made; who takes numbers is told of the cancellation alone.
func TestAnswered(t *testing.T) {
	c := openBootstrapped(t)
	made := 0
	for i := range 200 {
		name := fmt.Sprint("t", i)
		table := newTable(t, c, name)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(i)*20*time.Microsecond, pgerr.New(pgerr.QueryCanceled, "enough"))
		_, err := c.Update(Answered(ctx), func(_ *View, ch *Change) error { return ch.PutTable(table) })
		if err != nil && !pgerr.Is(err, pgerr.QueryCanceled) {
			t.Fatal(err)
		}
		if there := c.View().FindTable(PostgresDB, "public", name) != nil; there != (err == nil) {
			t.Fatalf("%v, and the table is there: %v", err, there)
		} else if there {
			made++
		}
		cancel()
		ctx, cancel = context.WithTimeoutCause(t.Context(), time.Duration(i)*20*time.Microsecond, pgerr.New(pgerr.QueryCanceled, "enough"))
		if _, err := c.NewJobID(ctx); err != nil && !pgerr.Is(err, pgerr.QueryCanceled) {
			t.Fatal(err)
		}
		cancel()
	}
	t.Logf("%d were made", made)
}
