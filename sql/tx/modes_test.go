package tx

import (
	"testing"

	"github.com/sherddb/sherd/txn"
)

// TestModes sets each mode before the first query, after it, and in a subtransaction, as PostgreSQL's check hooks
// allow it or not.
func TestModes(t *testing.T) {
	w := newWorld(t)
	const refused = "25001"
	level := func(l string) func(*Tx) error { return func(x *Tx) error { return x.SetLevel(l) } }
	readOnly := func(on bool) func(*Tx) error { return func(x *Tx) error { return x.SetReadOnly(on) } }
	deferrable := func(x *Tx) error { return x.SetDeferrable(true) }
	for _, test := range []struct {
		name                string
		begin               Modes
		set                 func(*Tx) error
		fresh, used, inside string // SQLSTATE
	}{
		{"another level", Modes{Level: "read committed"}, level("serializable"), "", refused, refused},
		{"the same level", Modes{Level: "serializable"}, level("serializable"), "", "", ""},
		{"read only", Modes{}, readOnly(true), "", "", ""},
		{"read write", Modes{}, readOnly(false), "", "", ""},
		{"read write again", Modes{ReadOnly: true}, readOnly(false), "", refused, refused},
		{"deferrable", Modes{}, deferrable, "", refused, refused},
	} {
		in := func(prepare func(*Tx)) error {
			x := w.env.Begin(w.now.Time(), test.begin)
			prepare(x)
			defer x.Rollback()
			return test.set(x)
		}
		wantCode(t, test.name+", fresh", in(func(*Tx) {}), test.fresh)
		wantCode(t, test.name+", after a query", in(func(x *Tx) { x.Used = true }), test.used)
		wantCode(t, test.name+", in a subtransaction", in(func(x *Tx) { x.Savepoint("a") }), test.inside)
	}
}

// TestLevelReachesFragments: the fragments work at the level that was set last.
func TestLevelReachesFragments(t *testing.T) {
	w := newWorld(t)
	for level, want := range map[string]txn.Isolation{
		"read uncommitted": txn.ReadCommitted, "read committed": txn.ReadCommitted,
		"repeatable read": txn.RepeatableRead, "serializable": txn.Serializable,
	} {
		x := w.begin("read committed")
		must(t, x.SetLevel(level))
		if got := w.last.options.Isolation; got != want {
			t.Errorf("%s: the fragments work at %v", level, got)
		}
		if got := x.OneSnapshot(); got != (want != txn.ReadCommitted) {
			t.Errorf("%s in a block: one snapshot is %v", level, got)
		}
		if x.Explicit = false; x.OneSnapshot() {
			t.Errorf("%s: a statement that is all of its transaction has one snapshot", level)
		}
		x.Rollback()
	}
}

// TestReadOnly: a transaction that reads the past may not write, whatever its mode.
func TestReadOnly(t *testing.T) {
	w := newWorld(t)
	x := w.begin("read committed")
	defer x.Rollback()
	if x.IsReadOnly() {
		t.Error("a transaction is read only from the start")
	}
	w.settings[AsOfSetting] = "-1s"
	if !x.IsReadOnly() {
		t.Errorf("it may write while %s is set", AsOfSetting)
	}
	must(t, x.ReadPastAsSet())
	delete(w.settings, AsOfSetting)
	if !x.IsReadOnly() || !x.Past {
		t.Error("it may write the past that it reads")
	}
	wantCode(t, "the future", x.ReadPast("2199-01-01 00:00:00Z"), "22023")
}
