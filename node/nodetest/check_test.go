package nodetest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
)

// compared returns the rows about replicas that sherd.check() returns on a node.
func compared(c *Cluster, number uint32) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.Node(number).URL())
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT concat_ws(' ', subject, ok, detail) FROM sherd.check() WHERE "check" = 'replicas'`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// says waits until a node's check returns a row about replicas with all parts.
func says(t *testing.T, c *Cluster, number uint32, parts ...string) {
	t.Helper()
	eventually.Succeeds(t, fmt.Sprintf("node %d says %q", number, parts), func() error {
		got, err := compared(c, number)
		if slices.ContainsFunc(got, func(row string) bool {
			return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(row, p) })
		}) {
			return nil
		}
		return fmt.Errorf("it says %q: %w", got, err)
	})
}

// TestReplicasCompared: every node's check compares the replicas; it names a replica that does not
// answer, and finds a damaged one.
func TestReplicasCompared(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	replicated(c, 3)
	exec(t, c, 1, "CREATE TABLE whole (id text PRIMARY KEY, n int)")
	exec(t, c, 1, "INSERT INTO whole SELECT 'row/' || i, i FROM generate_series(1, 3000) i")
	exec(t, c, 1, "CREATE TABLE gone (id text PRIMARY KEY)")
	exec(t, c, 1, "INSERT INTO gone SELECT 'row/' || i FROM generate_series(1, 3000) i")
	exec(t, c, 1, "DROP TABLE gone") // each node deletes its rows at its own pace
	for n := range uint32(3) {
		rows, err := compared(c, n+1)
		if err != nil || len(rows) == 0 {
			t.Fatalf("%v, %q", err, rows)
		}
		for _, row := range rows {
			if !strings.Contains(row, " t 3 replicas, ") || !strings.Contains(row, " keys, checksum ") {
				t.Errorf("node %d: %q", n+1, row)
			}
		}
	}
	c.Node(3).Stop()
	says(t, c, 1, " t ", "node n3 was not compared: it is away")
	says(t, c, 1, " t 2 replicas, ")
	name := damage(t, c, 3)
	c.Node(3).Restart()
	for _, n := range []uint32{1, 3} {
		says(t, c, n, name+" f ", "node n3 differs: it has ", "n1, n2: ")
	}
}

// damage changes a row of a stopped node, and returns the name of its fragment.
func damage(t *testing.T, c *Cluster, number uint32) string {
	t.Helper()
	d := c.Running().Catalog().View().Database(catalog.PostgresDB)
	for i := range d.Fragments {
		f := &d.Fragments[i]
		dir := filepath.Join(c.Node(number).Config.Data, "fragments", fmt.Sprint(f.ID), "data")
		db, err := badger.OpenManaged(badger.DefaultOptions(dir).WithLogger(nil))
		if err != nil {
			t.Fatal(err)
		}
		changed := change(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if changed {
			return d.FragmentName(f)
		}
	}
	t.Fatal("there is no row")
	return ""
}

// change overwrites the value of the first row in place.
func change(t *testing.T, db *badger.DB) bool {
	t.Helper()
	read := db.NewTransactionAt(1<<64-1, false)
	defer read.Discard()
	it := read.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	if it.Rewind(); !it.Valid() || it.Item().Key()[0] == 0xff {
		return false
	}
	w := db.NewManagedWriteBatch()
	if err := w.SetEntryAt(badger.NewEntry(it.Item().KeyCopy(nil), []byte("damaged")), it.Item().Version()); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return true
}
