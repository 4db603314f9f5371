package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestKillDefinitions kills the process while sessions make, change, rewrite, empty and drop tables together with rows in several fragments: after each
// restart a transaction's definitions and rows are there together, or neither is.
func TestKillDefinitions(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	data := filepath.Join(t.TempDir(), "data")
	var definers []*definer
	for n := range 4 {
		definers = append(definers, &definer{n: n, rnd: rand.New(rand.NewPCG(seed, uint64(n)))})
	}
	acknowledged, unknown, happened := 0, 0, 0
	for round := range rounds {
		p := StartT(t, binary, data)
		conn := Connect(t, p.URL)
		for _, d := range definers {
			if d.pending != nil {
				unknown++
			}
			if d.verify(t, conn) {
				happened++
			}
		}
		if bad := failedChecks(t, conn); len(bad) > 0 {
			t.Fatalf("round %d: %v", round, bad)
		}
		if round == rounds-1 {
			break
		}
		var wg sync.WaitGroup
		for _, d := range definers {
			wg.Go(func() { d.run(t, p.URL) })
		}
		time.Sleep(time.Duration(200+rand.IntN(600)) * time.Millisecond) // the random moment of the kill
		awaitWork(10*(round+1)/(rounds-1), func() (n int) {
			for _, d := range definers {
				n += int(d.acknowledged.Load())
			}
			return n
		})
		p.Kill()
		wg.Wait()
	}
	for _, d := range definers {
		acknowledged += int(d.acknowledged.Load())
	}
	t.Logf("%d acknowledged transactions, %d of unknown outcome, of which %d had happened", acknowledged, unknown, happened)
	if acknowledged < 10 {
		t.Errorf("only %d transactions were acknowledged", acknowledged)
	}
}

// shape is what a definer's table is like: absent, or with a number of rows that are all of one generation, which a column's default tells too.
type shape struct {
	there           bool
	generation, row int
}

// definer changes one table over and over.
type definer struct {
	n            int
	rnd          *rand.Rand
	known        shape
	pending      *shape // of a commit that was not answered
	acknowledged atomic.Int64
}

func (d *definer) table() string { return fmt.Sprintf("d%d", d.n) }

// run changes the table until the process is killed.
func (d *definer) run(t *testing.T, url string) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return
	}
	defer conn.Close(ctx)
	for {
		next, text := d.step()
		d.pending = &next
		_, err := conn.Exec(ctx, text)
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code != "40003" && pg.Code != "57P01" {
			t.Errorf("%s: %v", text, err)
			return
		}
		if err != nil {
			return
		}
		d.known, d.pending = next, nil
		d.acknowledged.Add(1)
	}
}

// step gives a transaction and the shape that it leads to.
func (d *definer) step() (shape, string) {
	gen, rows := d.known.generation+1, 5+d.rnd.IntN(40)
	next := shape{true, gen, rows}
	fill := fmt.Sprintf("INSERT INTO %s (id) SELECT g FROM generate_series(1, %d) g; ", d.table(), rows)
	create := fmt.Sprintf("CREATE TABLE %s (id int PRIMARY KEY, gen int NOT NULL DEFAULT %d); ", d.table(), gen)
	alter := fmt.Sprintf("ALTER TABLE %s ALTER COLUMN gen SET DEFAULT %d; ", d.table(), gen)
	switch {
	case !d.known.there:
		return next, "BEGIN; " + create + fill + "COMMIT"
	case d.rnd.IntN(4) == 0:
		return shape{}, fmt.Sprintf("BEGIN; UPDATE %[1]s SET gen = 0; DROP TABLE %[1]s; COMMIT", d.table())
	case d.rnd.IntN(3) == 0:
		return next, fmt.Sprintf("BEGIN; DROP TABLE %s; ", d.table()) + create + fill + "COMMIT"
	case d.rnd.IntN(2) == 0:
		return next, "BEGIN; " + alter + fmt.Sprintf("TRUNCATE %s; ", d.table()) + fill + "COMMIT"
	}
	next.row = d.known.row
	if d.rnd.IntN(2) == 0 { // the rows are stored anew, once or twice
		again := fmt.Sprintf("ALTER TABLE %[1]s DROP CONSTRAINT %[1]s_pkey, ADD PRIMARY KEY (id), ALTER gen TYPE int USING %[2]d; ", d.table(), gen)
		more := []string{"", fmt.Sprintf("ALTER TABLE %s ADD COLUMN IF NOT EXISTS r float8 DEFAULT random(); ", d.table())}
		return next, "BEGIN; " + again + more[d.rnd.IntN(2)] + alter + "COMMIT"
	}
	return next, "BEGIN; " + alter + fmt.Sprintf("UPDATE %s SET gen = %d; COMMIT", d.table(), gen)
}

// verify compares what is there with what was acknowledged, or was on its way; it tells whether what was on its way had happened.
func (d *definer) verify(t *testing.T, conn *pgx.Conn) (happened bool) {
	t.Helper()
	var found shape
	def := One[string](t, conn, "SELECT coalesce((SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef a JOIN pg_class c ON a.adrelid = c.oid WHERE c.relname = $1 AND adnum = 2), '')", d.table())
	if found.there = def != ""; found.there {
		var least, most int
		row := conn.QueryRow(t.Context(), "SELECT count(*), min(gen), max(gen) FROM "+d.table())
		if err := row.Scan(&found.row, &least, &most); err != nil {
			t.Fatal(err)
		}
		found.generation = most
		if least != most || def != fmt.Sprint(most) {
			t.Errorf("%s: generations %d to %d, default %s", d.table(), least, most, def)
		}
	}
	happened = d.pending != nil && found == *d.pending && found != d.known
	if found != d.known && !happened {
		t.Errorf("%s: found %+v, acknowledged %+v, on its way %+v", d.table(), found, d.known, d.pending)
	}
	d.known, d.pending = found, nil
	return happened
}
