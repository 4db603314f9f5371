package nodetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/shardmap"
)

// TestDropDatabaseFreesSpace: after DROP DATABASE the folders of its fragments are gone on all
// nodes, and the catalog has no object of it.
func TestDropDatabaseFreesSpace(t *testing.T) {
	t.Parallel()
	c := Start(t, 2)
	exec(t, c, 1, "CREATE DATABASE shop WITH FRAGMENTS 4 REPLICATION_FACTOR 2 RANGES '0-100,100-200,200-300,300-1048576'")
	d := c.Node(1).Catalog().View().DatabaseByName("shop")
	if len(d.Fragments) != 4 || d.ReplicationFactor != 2 || len(d.Map.Ranges()) != 4 || d.Map.Ranges()[2].Lo != 200 {
		t.Fatalf("the database is %+v", d)
	}
	shop := connectTo(t, c.Node(2), "shop")
	for _, text := range []string{
		"CREATE TABLE things (id bigint PRIMARY KEY, note text)", "CREATE INDEX ON things (note)",
		"INSERT INTO things SELECT i, repeat(md5(i::text), 100) FROM generate_series(1, 2000) i",
	} {
		if _, err := shop.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	shop.Close(t.Context())
	folders := func(n *Node) (found []string) {
		for _, f := range d.Fragments {
			found = append(found, named(t, n.Config.Data, strconv.Itoa(int(f.ID)))...)
		}
		return found
	}
	for _, n := range c.Nodes() {
		eventually.Holds(t, "the fragments have folders", func() bool { return len(folders(n)) >= 4 })
	}
	exec(t, c, 1, "DROP DATABASE shop")
	for _, n := range c.Nodes() {
		eventually.Holds(t, "the folders are gone", func() bool { return len(folders(n)) == 0 })
		v := n.Catalog().View()
		for j := range v.Jobs() {
			if j.Database == d.OID {
				t.Errorf("a job is left: %+v", j)
			}
		}
		for range v.Tables(d.OID) {
			t.Error("a table is left")
		}
		if _, f := v.Fragment(d.Fragments[0].ID); f != nil || v.Database(d.OID) != nil {
			t.Error("the database is left")
		}
	}
}

// named returns the folders with a name.
func named(t *testing.T, root, name string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == name {
			found = append(found, path)
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func connectTo(t *testing.T, n *Node, database string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(n.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Database = database
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestAlterFragments: ALTER DATABASE … FRAGMENTS raises and lowers the number while the database is
// written to. Every fragment gets its share, the surplus ones are gone, and no row is lost or
// duplicated.
func TestAlterFragments(t *testing.T) {
	t.Parallel()
	c := Start(t, 1)
	exec(t, c, 1, "CREATE TABLE orders (id bigint PRIMARY KEY, note text)")
	exec(t, c, 1, "CREATE INDEX ON orders (note)")
	exec(t, c, 1, "INSERT INTO orders SELECT i, 'n' || i FROM generate_series(1, 2000) i")
	written := make(chan int)
	stop := make(chan struct{})
	go func() {
		n := 0
		defer func() { written <- n }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := try(c.Node(1).URL(), "INSERT INTO orders VALUES ($1, 'w')", 10_000+n); err != nil {
				t.Errorf("a writer beside it: %v", err)
				return
			}
			n++
		}
	}()
	database := func() *catalog.Database { return c.Node(1).Catalog().View().Database(catalog.PostgresDB) }
	for _, n := range []int{5, 3, 2} {
		exec(t, c, 1, fmt.Sprintf("ALTER DATABASE postgres FRAGMENTS %d", n))
		eventually.Holds(t, fmt.Sprintf("%d fragments have their buckets", n), func() bool {
			d := database()
			return len(d.Fragments) == n && len(d.Map.Fragments()) == n && len(c.Node(1).Catalog().View().Plans(0)) == 0
		})
		for _, f := range database().Fragments {
			if owned := database().Map.Owned(f.ID).Len(); owned < shardmap.BucketCount/n*9/10 || owned > shardmap.BucketCount/n*11/10 {
				t.Errorf("of %d: fragment %d owns %d buckets", n, f.ID, owned)
			}
		}
	}
	close(stop)
	if want, got := 2000+<-written, count(t, c, 1, "orders"); got != want {
		t.Errorf("%d rows, not %d", got, want)
	}
	if bad, err := rows(c.context(), c.Node(1).Connect(t), "SELECT * FROM sherd.check() WHERE NOT ok"); err != nil || len(bad) > 0 {
		t.Errorf("sherd.check(): %v, %v", bad, err)
	}
}
