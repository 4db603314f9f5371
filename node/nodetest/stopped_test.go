package nodetest

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/verify/stopped"
	"github.com/sherddb/sherd/storage/keyspace"
)

// checkStopped checks the directories of stopped nodes. It returns the rows that report a fault,
// and the others.
func checkStopped(t *testing.T, c *Cluster, numbers ...uint32) (faults, well []string) {
	t.Helper()
	cfg := stopped.Config{Scratch: t.TempDir(), Release: "0.2.0", Version: clusterversion.Newest, Logger: slog.New(slog.DiscardHandler)}
	for _, n := range numbers {
		d, err := catalog.ReadDataDir(c.Node(n).Config.Data, "99.0.0")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		cfg.Dirs = append(cfg.Dirs, d)
	}
	err := stopped.Check(t.Context(), cfg, func(check, subject string, ok bool, detail string) error {
		row := check + "|" + subject + "|" + detail
		if ok {
			well = append(well, row)
		} else {
			faults = append(faults, row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return faults, well
}

// wantRow expects a row that has all the parts.
func wantRow(t *testing.T, rows []string, parts ...string) {
	t.Helper()
	if !slices.ContainsFunc(rows, func(row string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(row, p) })
	}) {
		t.Errorf("no row says %q:\n%s", parts, strings.Join(rows, "\n"))
	}
}

// TestStoppedDirectories checks the directories of stopped nodes, one by itself and all together.
// Together they prove that references between their rows are valid and that replicas are equal,
// also for a replica that has not applied the last entries.
func TestStoppedDirectories(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	replicated(c, 3)
	for _, sql := range []string{
		"CREATE TABLE p (n bigint PRIMARY KEY, code text UNIQUE, at timestamptz, UNIQUE (n, code))",
		"INSERT INTO p SELECT i, 'code ' || i FROM generate_series(1, 500) i",
		"CREATE TABLE q (n numeric PRIMARY KEY)",
		"CREATE TABLE c (id text PRIMARY KEY, p int REFERENCES p, code text REFERENCES p (code), n bigint, FOREIGN KEY (n, code) REFERENCES p (n, code) MATCH FULL, x int REFERENCES q)",
		"INSERT INTO c SELECT 'c/' || i, i, 'code ' || i, i FROM generate_series(1, 300) i",
		"INSERT INTO c SELECT 'null/' || i FROM generate_series(1, 10) i",
		"CREATE TABLE o (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'A')",
		"INSERT INTO o SELECT 'o/' || i || '$', jsonb_build_object('A', 'a' || i, 'B', 'b' || i) FROM generate_series(1, 40) i",
		"ALTER TABLE o SET (shard_by = 'B')",
		"CREATE TABLE r (n int PRIMARY KEY, o text REFERENCES o)",
		"INSERT INTO r SELECT row_number() OVER (), id FROM o",
		"SELECT sherd.replace_placement('o')",
	} {
		exec(t, c, 1, sql)
	}
	eventually.Holds(t, "new ids", func() bool {
		got, err := rows(c.context(), c.Node(1).Connect(t), "SELECT * FROM sherd.jobs WHERE kind = 'replace_placement' AND state = 'done'")
		return err == nil && len(got) == 1
	})
	c.Node(3).Stop() // it misses the following writes
	exec(t, c, 1, "INSERT INTO p SELECT i, 'code ' || i FROM generate_series(501, 600) i")
	exec(t, c, 1, "INSERT INTO c SELECT 'c/' || i, i FROM generate_series(501, 600) i")
	table := c.Node(1).Catalog().View().FindTable(catalog.PostgresDB, "public", "p")
	for n := range uint32(3) {
		c.Node(n + 1).Stop()
	}
	keys := func(well []string, n int) {
		t.Helper()
		wantRow(t, well, "foreign key|postgres.public.c c_p_fkey|", fmt.Sprintf("|%d keys", n+100))
		wantRow(t, well, "foreign key|postgres.public.c c_code_fkey|", fmt.Sprintf("|%d keys", n))
		wantRow(t, well, "foreign key|postgres.public.c c_n_code_fkey|", fmt.Sprintf("|%d keys", n))
		wantRow(t, well, "foreign key|postgres.public.c c_x_fkey|not checked: ")
		// Some of them are former ids.
		wantRow(t, well, "foreign key|postgres.public.r r_o_fkey|40 keys")
		wantRow(t, well, "former ids|postgres.public.o|", " former ids")
	}
	for _, dirs := range [][]uint32{{1, 2, 3}, {3, 1, 2}, {1, 2}} {
		faults, well := checkStopped(t, c, dirs...)
		if len(faults) > 0 {
			t.Errorf("%v: %q", dirs, faults)
		}
		keys(well, 300)
		wantRow(t, well, "replicas|postgres$0|", fmt.Sprintf("|%d replicas, ", len(dirs)))
	}
	faults, well := checkStopped(t, c, 1)
	if len(faults) > 0 {
		t.Error(faults)
	}
	wantRow(t, well, "replicas|postgres$0|not checked: one replica is here, of those on n")
	wantRow(t, well, "foreign key|postgres.public.c c_p_fkey|")

	for n := range uint32(3) {
		remove(t, c.Node(n+1), table, 7)
	}
	faults, well = checkStopped(t, c, 1, 2, 3)
	for _, key := range []string{"c_p_fkey|Key (p)=(7) ", "c_code_fkey|Key (code)=(code 7) ", "c_n_code_fkey|Key (n, code)=(7, code 7) "} {
		wantRow(t, faults, "foreign key|postgres.public.c "+key+`is not present in table "p".`)
	}
	wantRow(t, well, "replicas|postgres$0|3 replicas, ")
	remove(t, c.Node(2), table, 8)
	faults, _ = checkStopped(t, c, 1, 2, 3)
	wantRow(t, faults, "replicas|postgres$", "|node n2 differs: it has ", "; n1, n3: ")
}

// remove deletes the row of p with key n on a stopped node, without a transaction.
func remove(t *testing.T, n *Node, table *catalog.Table, key int64) {
	t.Helper()
	tail := types.AppendKey(nil, types.Int8, types.NewInt(key), false)
	folders, err := filepath.Glob(filepath.Join(n.Config.Data, "fragments", "*", "data"))
	if err != nil {
		t.Fatal(err)
	}
	removed := 0
	for _, dir := range folders {
		db, err := badger.OpenManaged(badger.DefaultOptions(dir).WithLogger(nil))
		if err != nil {
			t.Fatal(err)
		}
		read := db.NewTransactionAt(1<<64-1, false)
		it := read.NewIterator(badger.IteratorOptions{Prefix: keyspace.IndexPrefix(table.StorageID, 0)})
		w := db.NewManagedWriteBatch()
		for it.Rewind(); it.Valid(); it.Next() {
			if k := it.Item().KeyCopy(nil); bytes.HasSuffix(k, tail) {
				removed++
				if err := w.DeleteAt(k, it.Item().Version()); err != nil {
					t.Fatal(err)
				}
			}
		}
		it.Close()
		read.Discard()
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if removed != 1 {
		t.Fatalf("node %d: %d rows with key %d", n.number, removed, key)
	}
}

// TestStoppedSplitDocuments: the directories of nodes prove that each split document has all of its
// parts or none, also if one node does not know yet which documents are split. Documents in other
// fragments are counted.
func TestStoppedSplitDocuments(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	replicated(c, 3)
	for _, sql := range []string{
		"CREATE TABLE n (id text PRIMARY KEY, v bigint, doc jsonb) WITH (counters = 'v, Likes')",
		`INSERT INTO n SELECT 'n/' || i, i, '{"Likes":1.5}' FROM generate_series(1, 50) i`,
		"SELECT sherd.hot_split('n/1', 8)",
		"SELECT sherd.hot_split('n/2', 8)",
		"UPDATE n SET v = v + 1 WHERE id = 'n/1'",
	} {
		exec(t, c, 1, sql)
	}
	c.Node(3).Stop() // it misses the following writes
	for _, sql := range []string{
		"SELECT sherd.hot_join('n/2')",
		"SELECT sherd.hot_split('n/3', 8)",
		"SELECT sherd.hot_split('n/4', 8, '{v}')",
		"DELETE FROM n WHERE id = 'n/4'",
	} {
		exec(t, c, 1, sql)
	}
	view := c.Node(1).Catalog().View()
	table := view.FindTable(catalog.PostgresDB, "public", "n")
	for n := range uint32(3) {
		c.Node(n + 1).Stop()
	}
	const subject = "split documents|postgres.public.n|"
	for _, dirs := range [][]uint32{{1, 2, 3}, {3, 1, 2}, {1, 2}, {1}, {3}} {
		faults, well := checkStopped(t, c, dirs...)
		if len(faults) > 0 {
			t.Errorf("%v: %q", dirs, faults)
		}
		if len(dirs) > 1 {
			wantRow(t, well, subject+"2 documents, 16 parts; 2 without parts, which were deleted or made whole since")
		} else {
			wantRow(t, well, subject, " documents, ", " parts")
		}
	}
	lost := table.Hot.Documents[0].Parts[3]
	for n := range uint32(3) {
		remove(t, c.Node(n+1), view.Table(table.Hot.Parts), lost)
	}
	for _, dirs := range [][]uint32{{1, 2, 3}, {2}} {
		faults, _ := checkStopped(t, c, dirs...)
		wantRow(t, faults, subject+fmt.Sprintf("document n/1 lacks its part %d", lost))
	}
}
