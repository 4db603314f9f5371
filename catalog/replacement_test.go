package catalog

import (
	"reflect"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// forwardingOps are a collection whose documents have former ids, the table of these, and the jobs about them.
func forwardingOps(t *testing.T) []op {
	t.Helper()
	orders := &Table{OID: 16385, Database: 5, Schema: 16384, Name: "orders", Owner: 10, Kind: KindTable, Version: 3, StorageID: 16385, NextAttNum: 3, FormerIDs: FormerIDs{Forwarding: 16400}}
	entries := &Table{OID: 16400, Database: 5, Schema: 16399, Name: "of_16385", Owner: 10, Kind: KindTable, Version: 1, StorageID: 16400, NextAttNum: 3, FormerIDs: FormerIDs{ForwardingOf: 16385}}
	replacement := must[*Job](t)(NewIDJob(7, ReplacementJob, orders, Replacement{Next: 1 << 19, Left: 2, Some: "a stays", Who: "postgres"}, 9))
	rewriting := must[*Job](t)(NewIDJob(8, RewritingJob, orders, Rewriting{Referrer: 16390, Path: "Order.Id", After: "'a'::text", Looked: 500, Left: 1, Some: "b stays", Who: "ann"}, 9))
	var ops []op
	for _, d := range []descriptor{orders, entries, replacement, rewriting} {
		ops = append(ops, op{kind: putOp, key: keyOf(d), desc: d})
	}
	return ops
}

func TestForwardingFormat(t *testing.T) {
	ops := forwardingOps(t)
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "forwarding.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("%+v, %v", e.ops, err)
	}
	r, err := e.ops[2].desc.(*Job).Replacement()
	if want := (Replacement{Next: 1 << 19, Left: 2, Some: "a stays", Who: "postgres"}); err != nil || r != want {
		t.Error(r, err)
	}
	w, err := e.ops[3].desc.(*Job).Rewriting()
	if want := (Rewriting{16390, "Order.Id", "'a'::text", 500, 1, "b stays", "ann"}); err != nil || w != want {
		t.Error(w, err)
	}
	if _, err := e.ops[3].desc.(*Job).Replacement(); err == nil {
		t.Error("a job was taken for one of another kind")
	}
}

// TestSpreadFormat: a job that spreads documents says so in its record, and still does when it has
// written down how far it is.
func TestSpreadFormat(t *testing.T) {
	orders := &Table{OID: 16385, Database: 5}
	j := must[*Job](t)(NewIDJob(7, ReplacementJob, orders, Replacement{Next: 5, Spread: true}, 9))
	if got := string(j.Payload); got != `{"next":5,"spread":true}` {
		t.Error(got)
	}
	r, err := j.Replacement()
	if want := (Replacement{Next: 5, Spread: true}); err != nil || r != want {
		t.Error(r, err)
	}
}

// TestIDJob stops a job about ids, and lets it go on.
func TestIDJob(t *testing.T) {
	c := openBootstrapped(t)
	tab := newTable(t, c, "orders")
	id := must[uint64](t)(c.NewJobID(t.Context()))
	update := func(f func(*Change) error) error {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return f(ch) })
		return err
	}
	j := must[*Job](t)(NewIDJob(id, ReplacementJob, tab, Replacement{}, 1))
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(update(func(ch *Change) error { return ch.PutJob(j) }))
	reach := func(next uint32) (stopped bool) {
		check(update(func(ch *Change) (err error) {
			stopped, err = ch.Reach(id, Replacement{Next: next}, int64(next), 2)
			return err
		}))
		return stopped
	}
	if reach(5) {
		t.Error("a job that runs was stopped")
	}
	wait := func() string {
		check(update(func(ch *Change) error { return ch.WaitIDJob(id, "a full disk", 3) }))
		return c.View().Job(id).Error
	}
	if wait() != "a full disk" || reach(5) || c.View().Job(id).Error != "" {
		t.Error("what was in a job's way is not told, or for too long")
	}
	check(update(func(ch *Change) error { return ch.SetIDJob(id, JobPaused, 3) }))
	if wait() != "" {
		t.Error("a job that is paused waits")
	}
	if !reach(6) {
		t.Error("a job that is paused goes on")
	}
	check(update(func(ch *Change) error { return ch.SetIDJob(id, JobRunning, 4) }))
	if r, err := c.View().Job(id).Replacement(); err != nil || r.Next != 5 {
		t.Error(r, err)
	}
	check(update(func(ch *Change) error { return ch.EndIDJob(id, JobDone, "", 5) }))
	if err := update(func(ch *Change) error { return ch.SetIDJob(id, JobCancelled, 6) }); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Error(err)
	}
	if err := update(func(ch *Change) error { return ch.SetIDJob(id+1, JobCancelled, 6) }); !pgerr.Is(err, pgerr.UndefinedObject) {
		t.Error(err)
	}
}
