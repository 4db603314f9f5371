package catalog

import (
	"reflect"
	"testing"

	"github.com/hashicorp/raft"
)

// TestOutcomeFormats: a change that carries its transaction's id, and a snapshot that knows of commits.
func TestOutcomeFormats(t *testing.T) {
	encode := func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	ops := []op{{key: newKey(roleObject, 16390), desc: &Role{OID: 16390, Name: "r"}}}
	of := outcome{TransactionID{1, 2, 15: 16}, 1 << 60}
	e, err := decodeEntry(golden(t, "commit.v1", encode(encodeCommit(ops, &of))))
	if err != nil || e.commit == nil || *e.commit != of || !reflect.DeepEqual(e.ops, ops) {
		t.Fatalf("%+v, %v", e, err)
	}
	m := newMachine()
	m.counters = counters{oid: 16448, fragment: 3, node: 2, job: 2}
	if a := m.apply(e); a.err != nil {
		t.Fatal(a.err)
	}
	s, err := decodeSnapshot(golden(t, "snapshot-outcomes.v1", encode(encodeSnapshot(m.state()))))
	if err != nil || !reflect.DeepEqual(s.outcomes, []outcome{of}) {
		t.Fatalf("%+v, %v", s.outcomes, err)
	}
	if _, err := decodeOutcome([]byte("short"), 1); err == nil {
		t.Error("a short id was accepted")
	}
}

// TestCommitAppliesOnce: the same change under the same name is no conflict with itself.
func TestCommitAppliesOnce(t *testing.T) {
	data, err := encodeCommit([]op{{key: newKey(roleObject, 16390), desc: &Role{OID: 16390, Name: "r"}}}, &outcome{TransactionID{1}, 7})
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine()
	m.counters = counters{oid: 16448, fragment: 3, node: 2, job: 2}
	for n := range uint64(3) {
		if a := m.Apply(&raft.Log{Index: n + 1, Data: data}).(applied); a.err != nil || a.version != 1 {
			t.Fatalf("time %d: %+v", n, a)
		}
	}
}

func TestOutcomesAreDropped(t *testing.T) {
	var o outcomes
	for n := range uint64(100) {
		o.add(TransactionID{byte(n)}, n*keptOutcomes/10)
	}
	if _, ok := o.find(TransactionID{80}); ok || len(o.all()) != 11 {
		t.Fatalf("%d are left", len(o.all()))
	}
	if ts, ok := o.find(TransactionID{89}); !ok || ts != 89*keptOutcomes/10 {
		t.Fatal(ts, ok)
	}
	var again outcomes
	again.restore(o.all())
	again.add(TransactionID{200}, 99*keptOutcomes/10)
	if len(again.all()) != 12 || again.max != o.max {
		t.Fatal("restored otherwise")
	}
}
