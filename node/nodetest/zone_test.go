package nodetest

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// TestZones: a fragment with a rule of labels moves to the nodes that have them, while it is read
// and written, and its files disappear on the others. A missing replica is added when a suitable
// node joins.
func TestZones(t *testing.T) {
	t.Parallel()
	region := func(number uint32, cfg *node.Config) {
		cfg.Fragments = 2
		cfg.Labels = map[string]string{"region": []string{"eu", "us", "eu", "eu"}[number-1]}
	}
	c := Start(t, 3, region)
	exec(t, c, 1, "CREATE TABLE orders (id bigint PRIMARY KEY, note text)")
	exec(t, c, 1, "INSERT INTO orders SELECT i, 'n' || i FROM generate_series(1, 300) i")
	replicated(c, 3)
	fragment := func(ordinal int) *catalog.Fragment {
		return &c.Node(1).Catalog().View().Database(catalog.PostgresDB).Fragments[ordinal]
	}
	on := func(want ...uint32) func() bool {
		return func() bool {
			f := fragment(1)
			have := slices.Sorted(slices.Values(f.Nodes))
			return slices.Equal(have, want) && len(f.Joining)+len(f.Leaving) == 0
		}
	}
	db := c.Node(2).Connect(t)
	if _, err := db.Exec(c.context(), "SELECT sherd.set_fragment_labels('postgres$1', 'region=eu', 'law')"); err != nil {
		t.Fatal(err)
	}
	exec(t, c, 2, "INSERT INTO orders SELECT i, 'n' || i FROM generate_series(301, 400) i ON CONFLICT DO NOTHING")
	eventually.Holds(t, "no replica outside", on(1, 3))
	eventually.Holds(t, "its files are gone from node 2", func() bool { return !holdsFiles(t, c.Node(2), fragment(1).ID) })
	if !holdsFiles(t, c.Node(2), fragment(0).ID) || !holdsFiles(t, c.Node(3), fragment(1).ID) {
		t.Error("files that belong there are gone")
	}
	state := func(want string) {
		t.Helper()
		eventually.Holds(t, want, func() bool { // node 2 learns of it a little later
			got, err := rows(c.context(), db, "SELECT concat_ws(', ', fragment, labels, kept, state) FROM sherd.zones")
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(got, "; ") == want
		})
	}
	state("postgres$1, region=eu, t, kept, with 2 of 3 replicas: too few nodes have the labels")
	c.Add(region)
	eventually.Holds(t, "the node that joined has the third", on(1, 3, 4))
	state("postgres$1, region=eu, t, kept")
	if got := count(t, c, 2, "orders"); got != 400 {
		t.Errorf("%d rows", got)
	}
	if got, err := rows(c.context(), db, `SELECT "check" || subject || detail FROM sherd.check() WHERE NOT ok`); err != nil || len(got) > 0 {
		t.Errorf("sherd.check(): %q, %v", got, err)
	}
}

// holdsFiles reports whether a node has a folder of a fragment.
func holdsFiles(t *testing.T, n *Node, fragment uint32) bool {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(n.Config.Data, "fragments", strconv.FormatUint(uint64(fragment), 10)))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(found, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}
