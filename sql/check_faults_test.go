package sql_test

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// change makes a change in the catalog that no statement would make.
func (w *world) change(t *testing.T, how func(d *catalog.Database, ch *catalog.Change) error) {
	t.Helper()
	_, err := w.cfg.Catalog.Update(t.Context(), func(v *catalog.View, ch *catalog.Change) error {
		return how(v.Database(catalog.PostgresDB).Clone(), ch)
	})
	must(t, err)
}

// TestCheckForeignKeys: sherd.check() names up to ten keys that refer to nothing.
func TestCheckForeignKeys(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE p (n int PRIMARY KEY, m int UNIQUE); INSERT INTO p SELECT i, i FROM generate_series(1, 10) i",
		"CREATE TABLE\nINSERT 0 10")
	c.want("CREATE TABLE c (id text PRIMARY KEY, n int, m int); INSERT INTO c SELECT i, i, NULL "+
		"FROM generate_series(1, 12) i; INSERT INTO c VALUES ('m', NULL, 77)", "CREATE TABLE\nINSERT 0 12\nINSERT 0 1")
	c.want("ALTER TABLE c ADD CONSTRAINT cn FOREIGN KEY (n) REFERENCES p NOT VALID, "+
		"ADD CONSTRAINT cm FOREIGN KEY (m) REFERENCES p (m) NOT VALID", "ALTER TABLE")
	const faults = `SELECT ok, subject, detail FROM sherd.check() WHERE "check" = 'foreign key' ` +
		`ORDER BY subject, detail`
	c.want(faults,
		"t|public.c cm|not looked at: it is NOT VALID\nt|public.c cn|not looked at: it is NOT VALID\nSELECT 2")
	w.change(t, func(_ *catalog.Database, ch *catalog.Change) error {
		x := w.cfg.Catalog.View().FindTable(catalog.PostgresDB, "public", "c").Clone()
		for i := range x.Constraints {
			x.Constraints[i].Valid = true
		}
		return ch.PutTable(x)
	})
	c.want(faults,
		"f|public.c cm|Key (m)=(77) is not present in table \"p\".\nf|public.c cn|Key (n)=(11) is not present in "+
			"table \"p\".\nf|public.c cn|Key (n)=(12) is not present in table \"p\".\nSELECT 3")
	c.want("DELETE FROM c WHERE n > 10 OR m > 10", "DELETE 3")
	c.want(faults, "t|public.c cm|0 keys\nt|public.c cn|10 keys\nSELECT 2")
}

// TestCheckTopology: sherd.check() finds a bucket map that contradicts a pin, a rule for a prefix,
// or the fragments' logs.
func TestCheckTopology(t *testing.T) {
	w, c := prefixWorld(t)
	c.want("SELECT sherd.pin('postgres', 10, 20, 'postgres$0')", "\nSELECT 1")
	c.want("SELECT sherd.move_buckets('postgres', 100, 200, 'postgres$1', wait => true) > 0", "t\nSELECT 1")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	faults := func(want ...string) {
		t.Helper()
		got := c.answer(`SELECT "check", subject, detail FROM sherd.check() WHERE NOT ok`)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("got:\n%s\nwant in it:\n%s", got, part)
			}
		}
		if n := strings.Count(got, "\n"); n != len(want) {
			t.Errorf("%d faults:\n%s", n, got)
		}
	}
	other := func(d *catalog.Database, ordinal int) uint32 {
		for _, f := range d.Fragments {
			if f.Ordinal == ordinal {
				return f.ID
			}
		}
		return 0
	}
	w.change(t, func(d *catalog.Database, ch *catalog.Change) error {
		d.Pins[0].Fragment = other(d, 2)
		return ch.PutDatabase(d)
	})
	faults("pins|postgres|buckets [10,20) are pinned to postgres$2, and are in postgres$0")
	w.change(t, func(d *catalog.Database, ch *catalog.Change) error {
		d.Pins[0].Fragment = other(d, 0)
		d.Prefixes[0].Fragments = []uint32{other(d, 1)}
		return ch.PutDatabase(d)
	})
	faults(`prefixes|postgres|4 buckets of prefix "eu/" are in none of its fragments`)
	w.change(t, func(d *catalog.Database, ch *catalog.Change) (err error) {
		d.Prefixes[0].Fragments = []uint32{other(d, 1), other(d, 2)}
		ranges := append([]shardmap.Range(nil), d.Map.Ranges()...)
		for i := range ranges {
			if ranges[i].Lo == 100 {
				ranges[i].Fragment = other(d, 2)
			}
		}
		if d.Map, err = shardmap.NewAssignedMap(d.Map.Epoch()+1, ranges, d.Map.Top()); err != nil {
			return err
		}
		return ch.PutDatabase(d)
	})
	faults("ownership|postgres$1|its log has buckets [100,200), of which the map gives it 0 of 100")
}
