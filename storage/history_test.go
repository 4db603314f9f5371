package storage

import (
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// model is a multi-version store of a few lines: for each key its versions in order.
type model map[int][]modelVersion

type modelVersion struct {
	ts    txn.Timestamp
	value string // "" is deleted
}

func (m model) at(k int, T txn.Timestamp) string {
	for _, v := range slices.Backward(m[k]) {
		if v.ts <= T {
			return v.value
		}
	}
	return ""
}

func (m model) newest(k int) txn.Timestamp {
	if vs := m[k]; len(vs) > 0 {
		return vs[len(vs)-1].ts
	}
	return 0
}

// modelTx is an open transaction beside the real one.
type modelTx struct {
	tx     *Tx
	T      txn.Timestamp
	writes map[int]string
	saved  map[int]string // at the mark
	mark   txn.Mark
}

const historyKeys = 8

// TestHistories runs random interleavings of transactions, with restarts and crashes, against the
// model.
func TestHistories(t *testing.T) {
	for seed := range int64(6) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { history(t, seed) })
	}
}

func history(t *testing.T, seed int64) {
	rnd := rand.New(rand.NewSource(seed))
	ctx := testContext(t)
	dir := t.TempDir()
	r := openTest(t, dir, small)
	m := model{}
	var open []*modelTx
	owner := map[int]*modelTx{}
	end := func(x *modelTx) {
		open = slices.DeleteFunc(open, func(y *modelTx) bool { return x == y })
		for k, o := range owner {
			if o == x {
				delete(owner, k)
			}
		}
	}
	for step := range 600 {
		if len(open) < 4 && rnd.Intn(3) == 0 || len(open) == 0 {
			T, err := r.Snapshot(ctx)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, &modelTx{tx: r.Tx(txn.NewID()), T: T, writes: map[int]string{}})
		}
		x := open[rnd.Intn(len(open))]
		k := rnd.Intn(historyKeys)
		switch op := rnd.Intn(20); {
		case op < 8: // write
			if owner[k] == nil || owner[k] == x { // else it would wait
				owner[k] = x
				x.write(t, m, k, step, rnd)
			}
		case op < 14: // read everything
			x.compare(t, m, step)
		case op == 14:
			x.mark, x.saved = x.tx.Mark(), cloneWrites(x.writes)
		case op == 15 && x.saved != nil:
			x.tx.RollbackTo(x.mark)
			x.writes, x.saved = x.saved, nil
		case op == 16:
			x.tx.Rollback()
			end(x)
		case op == 17 && step%10 == 0: // restart; open transactions are lost
			if rnd.Intn(2) == 0 {
				to := t.TempDir()
				copyTree(t, dir, to)
				dir = to
			} else if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			r = openTest(t, dir, small)
			open, owner = nil, map[int]*modelTx{}
		default:
			ts, err := x.tx.Commit(ctx, txn.CommitRequest{Floor: x.T})
			if err != nil || ts <= x.T {
				t.Fatalf("step %d: commit at %s after reading at %s: %v", step, ts, x.T, err)
			}
			for k, v := range x.writes {
				m[k] = append(m[k], modelVersion{ts, v})
			}
			end(x)
		}
	}
}

// write locks key k, which conflicts where the model says so, and writes or deletes it.
func (x *modelTx) write(t *testing.T, m model, k, step int, rnd *rand.Rand) {
	t.Helper()
	_, err := x.tx.Lock(testContext(t), rowKey(k), txn.LockRequest{Mode: txn.Update, T: x.T})
	conflict := m.newest(k) > x.T
	if conflict != pgerr.Is(err, pgerr.SerializationFailure) || !conflict && err != nil {
		t.Fatalf("step %d: lock of %d at %s, newest %s: %v", step, k, x.T, m.newest(k), err)
	}
	if err != nil {
		return
	}
	value := ""
	if rnd.Intn(4) > 0 {
		value = fmt.Sprintf("s%d", step)
		if rnd.Intn(20) == 0 {
			value += string(make([]byte, 300_000))
		}
		err = x.tx.Put(rowKey(k), []byte(value))
	} else {
		err = x.tx.Delete(rowKey(k))
	}
	if err != nil {
		t.Fatal(err)
	}
	x.writes[k] = value
}

func cloneWrites(m map[int]string) map[int]string {
	c := map[int]string{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

// compare reads each key and the whole span, both ways.
func (x *modelTx) compare(t *testing.T, m model, step int) {
	t.Helper()
	ctx := testContext(t)
	v, err := x.tx.View(ctx, x.T)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	want := map[string]string{}
	for k := range historyKeys {
		value, own := x.writes[k]
		if !own {
			value = m.at(k, x.T)
		}
		if value != "" {
			want[string(rowKey(k))] = value
		}
		got, err := v.Get(ctx, rowKey(k))
		if err != nil || string(got) != value {
			t.Fatalf("step %d: key %d is %.20q, want %.20q, %v", step, k, got, value, err)
		}
	}
	for _, reverse := range []bool{false, true} {
		var keys []string
		err := v.Scan(ctx, keyspace.TableSpan(20000), reverse, func(k, val []byte) error {
			if want[string(k)] != string(val) {
				t.Errorf("step %d: scan gives %.20q at %x", step, val, k)
			}
			keys = append(keys, string(k))
			return nil
		})
		if reverse {
			slices.Reverse(keys)
		}
		if err != nil || len(keys) != len(want) || !sort.StringsAreSorted(keys) {
			t.Fatalf("step %d: scan gives %d keys of %d, %v", step, len(keys), len(want), err)
		}
	}
}
