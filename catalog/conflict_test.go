package catalog

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func TestConflicts(t *testing.T) {
	c := openBootstrapped(t)
	tab := newTable(t, c, "orders")
	v := putTable(t, c, tab)
	comment := func(text string) *Change {
		ch, u := v.Plan(), v.Table(tab.OID).Clone()
		u.Comment = text
		if err := ch.PutTable(u); err != nil {
			t.Fatal(err)
		}
		return ch
	}
	first, second := comment("first"), comment("second")
	if _, err := c.Apply(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(t.Context(), second); !IsConflict(err) || pgerr.Code(err) != pgerr.SerializationFailure {
		t.Fatalf("stale change: %v", err)
	}
	if _, err := c.Apply(t.Context(), first); !IsConflict(err) {
		t.Fatalf("the same change again: %v", err)
	}
	required := c.View().Plan()
	if err := required.Require(tab.OID); err != nil {
		t.Fatal(err)
	}
	if err := required.PutSetting(Setting{"work_mem", "8MB"}); err != nil {
		t.Fatal(err)
	}
	must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error { ch.DropTable(tab.OID); return nil }))
	if _, err := c.Apply(t.Context(), required); !IsConflict(err) {
		t.Fatalf("a required table was dropped: %v", err)
	}
	if got := c.View().FindTable(PostgresDB, "public", "orders"); got != nil {
		t.Fatalf("%+v", got)
	}
}

// TestConcurrentChanges lets writers edit one table at once: every edit must be there at the end, and no reader see a torn state.
func TestConcurrentChanges(t *testing.T) {
	c := openBootstrapped(t)
	tab := newTable(t, c, "orders")
	putTable(t, c, tab)
	const writers, edits = 4, 10
	ctx, stop := context.WithCancel(t.Context())
	var readers, group sync.WaitGroup
	readers.Go(func() {
		last := uint64(0)
		_ = c.Watch(ctx, func(v *View) error {
			u := v.Table(tab.OID)
			if v.Version() < last || v.FindTable(PostgresDB, "public", "orders") != u || len(u.Options) != int(u.Version)-1+2 {
				t.Errorf("version %d: %d options in table version %d", v.Version(), len(u.Options), u.Version)
			}
			last = v.Version()
			return nil
		})
	})
	for w := range writers {
		group.Go(func() {
			for e := range edits {
				_, err := c.Update(ctx, func(v *View, ch *Change) error {
					u := v.Table(tab.OID).Clone()
					u.Options[fmt.Sprintf("w%d_%d", w, e)] = "x"
					return ch.PutTable(u)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	stop()
	readers.Wait()
	if u := c.View().Table(tab.OID); u.Version != 1+writers*edits || len(u.Options) != 2+writers*edits {
		t.Errorf("version %d, %d options", u.Version, len(u.Options))
	}
}
