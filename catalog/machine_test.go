package catalog

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/internal/sparse"
)

// randomEntries draws entries as proposers would send them, many of them stale, with names and numbers that collide.
func randomEntries(t *testing.T, rng *rand.Rand, m *machine, n int) [][]byte {
	t.Helper()
	var out [][]byte
	add := func(data []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, data)
		m.Apply(&raft.Log{Data: data})
	}
	add(encodeAllotment(allotment{oids: 500, fragments: 3, nodes: 1}))
	boot := m.view.Load().Plan()
	if err := boot.bootstrap(bootstrapOptions(), []uint32{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	add(encodeBatch(boot.ops))
	views := []*View{m.view.Load()}
	for range n {
		if rng.IntN(10) == 0 {
			add(encodeAllotment(allotment{table: FirstOID + OID(rng.IntN(40)), ids: rng.Uint64N(100)}))
		}
		base := views[max(0, len(views)-1-rng.IntN(3))] // some proposers look at an old view
		ch := base.Plan()
		for range 1 + rng.IntN(3) {
			randomStep(t, rng, base, ch)
		}
		id := TransactionID{byte(rng.IntN(6))}
		switch rng.IntN(8) {
		case 0, 1:
			p := &prepared{id: id, writers: []uint32{1, 3}, ops: ch.ops}
			if rng.IntN(3) == 0 {
				p.writers, p.transaction = nil, &preparedTransaction{home: 2, locks: []TableLock{{FirstOID, 2}}}
			}
			add(encodePrepare(p))
		case 2:
			add(encodeDecision(decision{id, rng.Uint64(), rng.IntN(2) == 0, rng.IntN(2) == 0}))
		case 3:
			add(encodeForget(id))
		default:
			add(encodeBatch(ch.ops))
		}
		views = append(views, m.view.Load())
	}
	return out
}

func randomStep(t *testing.T, rng *rand.Rand, v *View, ch *Change) {
	t.Helper()
	oid := FirstOID + OID(rng.IntN(40))
	name := fmt.Sprintf("n%d", rng.IntN(12))
	var err error
	switch rng.IntN(8) {
	case 0:
		ch.DropTable(oid)
	case 1:
		ch.DropSchema(oid + 100)
	case 2:
		err = ch.PutSchema(&Schema{OID: oid + 100, Database: PostgresDB, Name: name, Owner: BootstrapRole})
	case 3:
		err = ch.PutRole(&Role{OID: oid + 200, Name: name})
	case 4:
		ch.DropRole(oid + 200)
	case 5:
		err = ch.PutSetting(Setting{name, fmt.Sprint(rng.IntN(100))})
	default:
		schema := PostgresPublic
		if rng.IntN(2) == 0 {
			schema = FirstOID + 100 + OID(rng.IntN(40))
		}
		index := Index{OID: oid + 300, Name: name + "_x", StorageID: 1}
		err = ch.PutTable(&Table{
			OID: oid, Database: PostgresDB, Schema: schema, Name: name, Owner: BootstrapRole, Kind: KindTable, StorageID: oid, Indexes: []Index{index}, NextAttNum: 1,
			Options: map[string]string{"a": "1", "b": "2", "c": "3"},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestReplicasAgree holds K2: replicas that apply the same entries, one of them through snapshots at random places, end with the same bytes.
func TestReplicasAgree(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		first, second := newMachine(), newMachine()
		for _, data := range randomEntries(t, rng, first, 150) {
			second.Apply(&raft.Log{Data: data})
			if rng.IntN(20) == 0 {
				second = throughSnapshot(t, second)
			}
		}
		a, b := snapshotBytes(t, first), snapshotBytes(t, second)
		if !bytes.Equal(a, b) {
			t.Fatalf("seed %d: replicas differ", seed)
		}
		if v := first.view.Load(); v.version < 40 {
			t.Fatalf("seed %d: only %d changes were accepted", seed, v.version)
		}
		sameView(t, first.view.Load(), throughSnapshot(t, first).view.Load())
	}
}

func snapshotBytes(t *testing.T, m *machine) []byte {
	t.Helper()
	data, err := encodeSnapshot(m.state())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func throughSnapshot(t *testing.T, m *machine) *machine {
	t.Helper()
	restored := newMachine()
	if err := restored.Restore(io.NopCloser(bytes.NewReader(snapshotBytes(t, m)))); err != nil {
		t.Fatal(err)
	}
	return restored
}

// TestCrash opens a copy of the directory of a catalog that was never closed: what was acknowledged is there.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	c := openCatalog(t, dir)
	must[bool](t)(c.Bootstrap(t.Context(), bootstrapOptions()))
	for i := range 3 {
		putTable(t, c, newTable(t, c, fmt.Sprintf("t%d", i)))
		crashed := t.TempDir()
		if err := sparse.Dir(crashed, dir); err != nil {
			t.Fatal(err)
		}
		sameView(t, c.View(), openCatalog(t, crashed).View())
		if i == 1 {
			if err := c.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
