package sql_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// returning stands for the locks of another node that was left out when a lock was taken. The node
// comes back before each of the first confirmations.
type returning struct {
	mu       sync.Mutex
	times    int             // how often it does so; guarded by mu
	steps    []string        // the requests; guarded by mu
	released map[txn.ID]bool // guarded by mu
	t        *testing.T
}

func (r *returning) note(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, step)
}

func (r *returning) locks() *tx.LocksElsewhere {
	return &tx.LocksElsewhere{
		Alone: func() bool { return false },
		Take: func(_ context.Context, l locks.ClusterRequest, local func() error) error {
			r.note("take")
			r.mu.Lock()
			if r.released[l.Owner] {
				r.t.Error("a lock is taken for an owner whose release may still be on its way")
			}
			r.mu.Unlock()
			return local()
		},
		Barrier: func(context.Context, locks.ClusterRequest) error {
			r.note("barrier")
			return nil
		},
		Confirm: func(_ context.Context, owner txn.ID) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.steps = append(r.steps, "confirm")
			if r.times > 0 {
				r.times--
				return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to a lost lock").
					WithDetail("Node n2 has come back.")
			}
			return nil
		},
		RollbackTo: func(txn.ID, int) {},
		Release: func(owner txn.ID) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.released[owner] = true
		},
	}
}

// TestDefinitionsAndReturningNode: a node that was left out when a definition took its locks comes
// back while the definition runs. The statement asks this node too, takes effect once and succeeds.
// After its last step it confirms nothing and is not run again.
func TestDefinitionsAndReturningNode(t *testing.T) {
	w := newWorldOf(t, 1)
	r := &returning{t: t, released: map[txn.ID]bool{}}
	w.cfg.Others = &session.Others{Locks: r.locks()}
	w.server = sql.NewServer(w.cfg)
	c := w.connect(t)
	c.want("CREATE TABLE o (id int PRIMARY KEY, v int, s text)", "CREATE TABLE")
	c.want("INSERT INTO o SELECT g, g % 7, 's' FROM generate_series(1, 700) g", "INSERT 0 700")
	for _, x := range []struct{ text, want, steps string }{
		{"CREATE INDEX o_v ON o (v)", "CREATE INDEX", "take barrier confirm take barrier confirm take barrier confirm"},
		{
			"CREATE UNIQUE INDEX CONCURRENTLY o_id ON o (id)", "CREATE INDEX",
			"take barrier confirm take barrier confirm take barrier confirm",
		},
		{
			"ALTER TABLE o ADD COLUMN n int DEFAULT 5", "ALTER TABLE",
			"take barrier confirm take barrier confirm take barrier confirm",
		},
		{
			"ALTER TABLE o ADD COLUMN m int NOT NULL DEFAULT 5, ADD COLUMN l text", "ALTER TABLE",
			"take barrier confirm take barrier confirm take barrier confirm",
		},
		{"ALTER TABLE o DROP COLUMN l", "ALTER TABLE", "take take confirm take take confirm take take confirm"},
		{"DROP INDEX CONCURRENTLY o_id", "DROP INDEX", "take take confirm take take confirm take take confirm"},
		{"ALTER TABLE o RENAME COLUMN m TO k", "ALTER TABLE", "take take confirm take take confirm take take confirm"},
	} {
		r.times, r.steps = 2, nil
		c.want(x.text, x.want)
		if got := strings.Join(r.steps, " "); got != x.steps {
			t.Errorf("%s: %s, want %s", x.text, got, x.steps)
		}
	}
	c.want("SELECT attname, attnum FROM pg_attribute WHERE attrelid = 'o'::regclass AND attnum > 3 "+
		"AND NOT attisdropped ORDER BY attnum", "n|4\nk|5\nSELECT 2")
	c.want("SELECT count(*) FROM o WHERE v = 3", "100\nSELECT 1")
	c.want("SELECT count(*) FROM sherd.jobs", "0\nSELECT 1")
	c.want("SELECT count(*) FROM sherd.check() WHERE NOT ok", "0\nSELECT 1")
}

// TestFunctionsAndReturningNode does the same for functions that change definitions, which take
// effect with the commit of their statement.
func TestFunctionsAndReturningNode(t *testing.T) {
	w, _ := hotWorld(t)
	r := &returning{t: t, released: map[txn.ID]bool{}}
	w.cfg.Others = &session.Others{Locks: r.locks()}
	w.server = sql.NewServer(w.cfg)
	c := w.connect(t)
	c.want("CREATE TABLE plain (id text PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	for _, x := range []struct{ text, want string }{
		{"SELECT sherd.hot_split('counters/cold', 4)", "4\nSELECT 1"},
		{"SELECT sherd.hot_join('counters/cold')", "\nSELECT 1"},
		{`SELECT sherd.set_policy('plain', '{"Fields":["Name"]}')`, "\nSELECT 1"},
		{"SELECT count(*) FROM sherd.validate_policy('plain')", "0\nSELECT 1"},
		{"ALTER TABLE plain VALIDATE CONSTRAINT sharding", "ALTER TABLE"},
	} {
		r.times = 2
		c.want(x.text, x.want)
	}
}
