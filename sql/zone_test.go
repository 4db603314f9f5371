package sql_test

import (
	"strings"
	"testing"
)

// TestLabels sets rules of labels when no node has any labels: the rules are reported as unmet, and
// removed.
func TestLabels(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	few := func(ordinal string) string {
		return `NOTICE: fragment "postgres$` + ordinal +
			`" shall have 3 replicas on nodes with labels disk!=hdd, and these are 1` + "\n"
	}
	c.want("SELECT count(*) FROM sherd.zones", "0\nSELECT 1")
	c.want("SELECT sherd.set_fragment_labels('postgres$1', ' region = us|eu, disk!=hdd ', 'law')",
		"\nNOTICE: no node that may hold the replicas of fragment \"postgres$1\" has labels disk!=hdd, "+
			"region=eu|us\nSELECT 1")
	c.want("SELECT fragment, labels, replication_factor > 0, nodes_with_labels, inside, kept, state FROM sherd.zones",
		"postgres$1|disk!=hdd, region=eu|us|t|{}|{}|f|not kept: no node has the labels\nSELECT 1")
	c.want("SELECT labels FROM sherd.fragments ORDER BY 1", "disk!=hdd, region=eu|us\nnull\nnull\nSELECT 3")
	c.want("SELECT subject, remedy, advice LIKE '%; start nodes with --labels as disk!=hdd, region=eu|us, or%' "+
		"FROM sherd.advice WHERE subject LIKE 'fragment%'", "fragment postgres$1|null|t\nSELECT 1")
	c.want(`SELECT subject, ok FROM sherd.check() WHERE "check" = 'zone'`, "postgres$1|f\nSELECT 1")
	c.want("CREATE DATABASE elsewhere LABELS 'region=eu'",
		"no node can hold the fragments of a database (SQLSTATE 55000): Nodes hold none that have not labels "+
			"region=eu, are gateways, are being drained, or do not answer.")
	c.want("ALTER DATABASE postgres LABELS 'region'", `invalid rule of labels: "region" (SQLSTATE 22023)`)
	c.want("ALTER DATABASE postgres LABELS 'region=eu,region=us'",
		`no node can have the labels "region=eu,region=us" (SQLSTATE 22023): Conditions on label region exclude `+
			`each other.`)
	c.want("ALTER DATABASE postgres LABELS 'disk!=hdd' CONNECTION LIMIT 4",
		"LABELS cannot be changed together with other options (SQLSTATE 0A000)")
	c.want("ALTER DATABASE postgres LABELS 'disk!=hdd'",
		few("0")+"NOTICE: no node that may hold the replicas of fragment \"postgres$1\" has labels disk!=hdd, "+
			"region=eu|us\n"+few("2")+"ALTER DATABASE")
	c.want("SELECT sherd.set_fragment_labels('postgres$1', '')", "\n"+few("1")+"SELECT 1")
	c.want("SELECT string_agg(DISTINCT labels || ' ' || kept || ' ' || state, ',') FROM sherd.zones "+
		"WHERE replication_factor = 1", "null\nSELECT 1")
	c.want(`SELECT count(*) FROM sherd.check() WHERE "check" = 'zone' AND ok`, "3\nSELECT 1")
	c.want("SELECT sherd.set_database_labels('postgres', '')", "\nSELECT 1")
	c.want("SELECT count(*) FROM sherd.zones", "0\nSELECT 1")
	c.want("SELECT subject, change, why FROM sherd.changelog ORDER BY at",
		"postgres$1|replicas on nodes with disk!=hdd, region=eu|us|law\npostgres|replicas on nodes with "+
			"disk!=hdd|ALTER DATABASE postgres LABELS\n"+
			"postgres$1|replicas on nodes with any labels|null\npostgres|replicas on nodes with any "+
			"labels|null\nSELECT 4")
}

// TestZoneRemedies: what sherd.advice proposes for rules that too few nodes can keep runs as it
// stands, and ends the advice.
func TestZoneRemedies(t *testing.T) {
	c := newWorld(t).connect(t)
	c.answer("SELECT sherd.set_replication_factor('postgres', 3, 'postgres$2', nodes => '{n1}')")
	c.answer("ALTER DATABASE postgres LABELS 'disk!=hdd'")
	remedies := strings.Split(strings.TrimSuffix(c.answer("SELECT remedy FROM sherd.advice ORDER BY subject"),
		"\nSELECT 3"), "\n")
	if len(remedies) != 3 {
		t.Fatalf("remedies: %q", remedies)
	}
	for _, r := range remedies {
		c.want(r, "\nSELECT 1")
	}
	c.want("SELECT * FROM sherd.advice", "SELECT 0")
}

// TestPinAnchors moves a list of anchors to a fragment, where they stay, and unpins them.
func TestPinAnchors(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE customers (id text PRIMARY KEY, doc jsonb); CREATE TABLE orders (id text PRIMARY KEY, "+
		"doc jsonb); CREATE TABLE flat (n int PRIMARY KEY)",
		"CREATE TABLE\nCREATE TABLE\nCREATE TABLE")
	c.want("INSERT INTO customers SELECT 'customers/' || i || '-A', '{}' FROM generate_series(1, 20) i", "INSERT 0 20")
	c.want("INSERT INTO orders SELECT 'orders/' || i || '$customers/' || i || '-A', '{}' FROM generate_series(1, 20) i",
		"INSERT 0 20")
	c.want("INSERT INTO flat SELECT generate_series(1, 20)", "INSERT 0 20")
	const list = "ARRAY(SELECT 'customers/' || i || '-A' FROM generate_series(1, 9) i)"
	c.answer("SELECT sherd.pin_anchors('customers', " + list + ", 'postgres$2', wait => true, why => 'law')")
	c.want("SELECT DISTINCT sherd.fragment('customers', id) FROM customers WHERE id LIKE 'customers/_-A'",
		"postgres$2\nSELECT 1")
	c.want("SELECT DISTINCT sherd.fragment('orders', id) FROM orders WHERE id LIKE 'orders/_$%'",
		"postgres$2\nSELECT 1")
	c.want("SELECT count(*), min(fragment), max(fragment), count(*) FILTER (WHERE anchors[1] LIKE 'customers/_-A') "+
		"FROM sherd.pins", "9|postgres$2|postgres$2|9\nSELECT 1")
	c.want("SELECT sherd.pin_anchors('customers', "+list+", 'postgres$2')", "0\nSELECT 1")
	c.want("SELECT count(*) FROM sherd.pins", "9\nSELECT 1")
	c.want("SELECT sherd.move_anchor('orders/1$customers/1-A', 'postgres$0')",
		`bucket 982173 is pinned to fragment "postgres$2" (SQLSTATE 55006)`)
	c.want("SELECT sherd.pin_anchors('customers', ARRAY['customers/1-A'], 'postgres$0')",
		`"customers/1-A" lies in bucket 982173, which is pinned to fragment "postgres$2" (SQLSTATE 55006)`)
	c.want("SELECT sherd.pin_anchors('customers', ARRAY['customers/1-A', ''], 'postgres$2')",
		"an anchor must not be empty (SQLSTATE 22023)")
	c.answer("SELECT sherd.pin_anchors('flat', ARRAY['7'], 'postgres$2', wait => true)")
	c.want("SELECT sherd.fragment('flat', '7')", "postgres$2\nSELECT 1")
	c.want(`SELECT ok, detail FROM sherd.check() WHERE "check" = 'pins'`, "t|10 pins\nSELECT 1")
	c.want("SELECT sherd.unpin_anchors('customers', "+list+", why => 'gone')", "9\nSELECT 1")
	c.want("SELECT sherd.unpin_anchors('customers', "+list+")", `anchor "customers/1-A" is not pinned (SQLSTATE 42704)`)
	c.want("SELECT count(*) FROM sherd.pins", "1\nSELECT 1")
	c.want("SELECT subject, change, why FROM sherd.changelog WHERE subject = 'customers' ORDER BY at",
		"customers|9 anchors pinned to postgres$2|law\ncustomers|9 anchors pinned to postgres$2|null\ncustomers|9 "+
			"anchors unpinned|gone\nSELECT 3")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}
