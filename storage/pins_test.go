package storage

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"testing"

	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/txn"
)

// TestSetAgainstWholeLocks does the same at random to two transactions, one with its locks in a
// set: other transactions meet the same modes, and a prepare contains the same pinned locks.
func TestSetAgainstWholeLocks(t *testing.T) {
	whole := openTest(t, t.TempDir(), slowRecovery, func(c *Config) { c.Limits.WholeLocks = 1 << 20 })
	packed := openTest(t, t.TempDir(), slowRecovery, func(c *Config) { c.Limits.WholeLocks = 16 })
	rnd := rand.New(rand.NewSource(7))
	const rows = 150
	for round := range 12 {
		id := txn.NewID()
		txs := []*Tx{whole.Tx(id), packed.Tx(id)}
		var marks [][2]txn.Mark
		for range 300 {
			row, mode, pin, what := rowKey(rnd.Intn(rows)), txn.KeyShare+txn.LockMode(rnd.Intn(4)), rnd.Intn(2) == 0,
				rnd.Intn(40)
			to := 0
			if what == 0 && len(marks) > 0 {
				to = rnd.Intn(len(marks))
			}
			mark := [2]txn.Mark{}
			for i, tx := range txs {
				switch {
				case what == 0 && len(marks) > 0:
					tx.RollbackTo(marks[to][i])
				case what < 3:
					mark[i] = tx.Mark()
				case what < 12:
					if _, err := tx.Lock(t.Context(), row,
						txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp}); err != nil {
						t.Fatal(err)
					}
					if err := tx.Put(row, []byte("v")); err != nil {
						t.Fatal(err)
					}
				default:
					if _, err := tx.Lock(t.Context(), row,
						txn.LockRequest{Mode: mode, T: txn.MaxTimestamp, Pin: pin}); err != nil {
						t.Fatal(err)
					}
				}
			}
			switch {
			case what == 0 && len(marks) > 0:
				marks = marks[:to]
			case what < 3:
				marks = append(marks, mark)
			}
			if a, b := txs[0].HasPins(), txs[1].HasPins(); a != b {
				t.Fatalf("round %d: pins: %v and %v", round, a, b)
			}
			if rnd.Intn(30) == 0 { // another transaction meets it
				same := [2]bool{}
				for i, r := range []*Replica{whole, packed} {
					same[i] = meets(t, r, row, mode)
				}
				if same[0] != same[1] {
					t.Fatalf("round %d: %s of row %x: %v", round, mode, row, same)
				}
			}
		}
		compareSets(t, round, [2]*Replica{whole, packed}, txs, rows)
	}
}

// meets reports whether another transaction is kept from a lock.
func meets(t *testing.T, r *Replica, row []byte, mode txn.LockMode) bool {
	t.Helper()
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	_, err := tx.Lock(t.Context(), row, txn.LockRequest{Mode: mode, T: txn.MaxTimestamp, NoWait: true})
	if err != nil && err != txn.ErrLocked {
		t.Fatal(err)
	}
	return err != nil
}

// compareSets compares the locks, what a prepare makes of them, and the locks that the next term
// has.
func compareSets(t *testing.T, round int, rs [2]*Replica, txs []*Tx, rows int) {
	t.Helper()
	modes := func(r *Replica) (out string) {
		for n := range rows {
			free := 0
			for mode := txn.KeyShare; mode <= txn.Update; mode++ {
				if !meets(t, r, rowKey(n), mode) {
					free++
				}
			}
			out += fmt.Sprint(free)
		}
		return out
	}
	if a, b := modes(rs[0]), modes(rs[1]); a != b {
		t.Fatalf("round %d: others get\n%s, and with a set\n%s", round, a, b)
	}
	logged, term := [2]map[string]txn.LockMode{}, [2]string{}
	for i, tx := range txs {
		C := max(rs[0].cfg.Clock.Now(), rs[1].cfg.Clock.Now()).Add(1e8)
		if err := tx.Prepare(t.Context(),
			txn.PrepareRequest{C: C, Coordinator: 9, Attempt: 1, Writers: []txn.FragmentID{1, 9}}); err != nil {
			t.Fatal(err)
		}
		logged[i] = map[string]txn.LockMode{}
		rs[i].txns.mu.RLock()
		each := rs[i].txns.prepared[tx.id].each
		rs[i].txns.mu.RUnlock()
		err := each(func(key []byte, mode txn.LockMode) error {
			logged[i][string(key)] = max(mode, logged[i][string(key)])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		nextTerm(rs[i])
		term[i] = modesUnder(t, rs[i], rows)
		if err := rs[i].Outcomes.Resolve(txn.Decision{ID: tx.id, C: C, Outcome: txn.Aborted}); err != nil {
			t.Fatal(err)
		}
		tx.end()
	}
	if !maps.Equal(logged[0], logged[1]) {
		t.Fatalf("round %d: a prepare carries %v, and of a set %v", round, logged[0], logged[1])
	}
	if term[0] != term[1] {
		t.Fatalf("round %d: in the next term\n%s, and with a set\n%s", round, term[0], term[1])
	}
}

// modesUnder returns for each row the strongest lock that is free, without regard to readers.
func modesUnder(t *testing.T, r *Replica, rows int) (out string) {
	t.Helper()
	for n := range rows {
		var o locktable.Owner
		o.Init(r.locks, txn.NewID())
		free := txn.LockMode(0)
		for mode := txn.KeyShare; mode <= txn.Update; mode++ {
			if _, err := o.Lock(t.Context(), rowKey(n), &txn.LockRequest{Mode: mode, NoWait: true},
				locktable.NotWritten); err == nil {
				free = mode
			} else if !errors.Is(err, txn.ErrLocked) {
				t.Fatal(err)
			}
		}
		o.End()
		out += fmt.Sprint(int(free))
	}
	return out
}
