package integration

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestPreparedDefinitions: definitions and rows of a prepared transaction, and its locks, outlive a process that is killed, twice; then one is committed
// and one rolled back.
func TestPreparedDefinitions(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := StartT(t, binary, data)
	conn := Connect(t, p.URL)
	Exec(t, conn, "CREATE TABLE old (id int PRIMARY KEY, v int); INSERT INTO old SELECT g, g FROM generate_series(1, 20) g; CREATE TABLE read (id int PRIMARY KEY)")
	Exec(t, conn, `BEGIN; CREATE TABLE made (id int PRIMARY KEY, t text UNIQUE); INSERT INTO made SELECT g, 'n' || g FROM generate_series(1, 20) g;
		ALTER TABLE old ADD COLUMN w int DEFAULT 7; UPDATE old SET w = id WHERE id > 10; SELECT count(*) FROM read; PREPARE TRANSACTION 'yes'`)
	Exec(t, conn, "BEGIN; CREATE TABLE other (id int); INSERT INTO other VALUES (1); PREPARE TRANSACTION 'no'")
	for range 2 {
		p.Kill()
		p = StartT(t, binary, data)
		conn = Connect(t, p.URL)
		if got := One[string](t, conn, "SELECT string_agg(gid, ' ' ORDER BY gid) FROM pg_prepared_xacts"); got != "no yes" {
			t.Fatalf("prepared: %s", got)
		}
		Exec(t, conn, "SET lock_timeout = '20ms'")
		for statement, state := range map[string]string{
			"SELECT * FROM old": "55P03", "UPDATE old SET v = 0": "55P03", "CREATE TABLE made (id int)": "55P03", "CREATE TABLE other (id int)": "55P03",
			"SELECT * FROM made": "42P01", "INSERT INTO read VALUES (1) ON CONFLICT DO NOTHING": "", "ALTER TABLE read ADD COLUMN x int": "55P03",
		} {
			if _, err := conn.Exec(context.Background(), statement); sqlState(err) != state {
				t.Errorf("%s: %v, want %q", statement, err, state)
			}
		}
	}
	Exec(t, conn, "COMMIT PREPARED 'yes'")
	Exec(t, conn, "ROLLBACK PREPARED 'no'")
	if got := One[int](t, conn, "SELECT sum(w) + (SELECT count(*) FROM made WHERE t = 'n' || id) FROM old"); got != 70+155+20 {
		t.Errorf("sum %d", got)
	}
	Exec(t, conn, "CREATE TABLE other (id int); ALTER TABLE read ADD COLUMN x int")
	sound(t, conn)
	p.Kill()
	p = StartT(t, binary, data)
	sound(t, Connect(t, p.URL))
}

// sound wants sherd.check() to find nothing wrong.
func sound(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	if got := One[int](t, conn, "SELECT count(*) FROM sherd.check() WHERE NOT ok"); got != 0 {
		var all []string
		rows, _ := conn.Query(context.Background(), "SELECT c::text FROM sherd.check() c WHERE NOT ok")
		for rows.Next() {
			var s string
			_ = rows.Scan(&s)
			all = append(all, s)
		}
		t.Errorf("sherd.check(): %s", strings.Join(all, "\n"))
	}
}

// TestPreparedSerializable: what a SERIALIZABLE transaction has read stays true from PREPARE TRANSACTION to COMMIT PREPARED, through a kill, over one
// fragment and over several: write skew is refused to the other, who waits if it comes later.
func TestPreparedSerializable(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := StartT(t, binary, data)
	for _, place := range placements {
		a, b := place.ids["a"], place.ids["b"]
		x, y := Connect(t, p.URL), Connect(t, p.URL)
		Exec(t, x, "DROP TABLE IF EXISTS t; CREATE TABLE t (id text PRIMARY KEY, v int); CREATE INDEX ON t (v); INSERT INTO t VALUES ('"+a+"', 10), ('"+b+"', 10)")
		for _, c := range []*pgx.Conn{x, y} {
			Exec(t, c, "BEGIN ISOLATION LEVEL SERIALIZABLE")
			if got := One[int](t, c, "SELECT sum(v) FROM t"); got != 20 {
				t.Fatalf("%s: sum %d", place.name, got)
			}
		}
		Exec(t, x, "UPDATE t SET v = 0 WHERE id = '"+a+"'")
		Exec(t, y, "UPDATE t SET v = 0 WHERE id = '"+b+"'")
		Exec(t, x, "PREPARE TRANSACTION 'x'")
		if _, err := y.Exec(context.Background(), "COMMIT"); sqlState(err) != "40001" {
			t.Errorf("%s: write skew: %v", place.name, err)
		}
		p.Kill()
		p = StartT(t, binary, data)
		x, y = Connect(t, p.URL), Connect(t, p.URL)
		Exec(t, y, "SET lock_timeout = '50ms'")
		for _, statement := range []string{
			"UPDATE t SET v = 0 WHERE id = '" + b + "'", "INSERT INTO t VALUES ('new', 1)", "DELETE FROM t WHERE v = 10 AND id = '" + b + "'",
			"BEGIN ISOLATION LEVEL SERIALIZABLE; INSERT INTO t VALUES ('new', 1); COMMIT", "DROP TABLE t",
		} {
			if _, err := y.Exec(context.Background(), statement); sqlState(err) != "55P03" {
				t.Errorf("%s: %s: %v", place.name, statement, err)
			}
			Exec(t, y, "ROLLBACK")
		}
		if got := One[int](t, y, "SELECT sum(v) FROM t"); got != 20 {
			t.Errorf("%s: readers see a sum of %d", place.name, got)
		}
		Exec(t, y, "RESET lock_timeout")
		done := make(chan error, 1)
		go func() {
			_, err := y.Exec(context.Background(), "UPDATE t SET v = 0 WHERE id = '"+b+"' AND (SELECT sum(v) FROM t) > 10")
			done <- err
		}()
		Exec(t, x, "COMMIT PREPARED 'x'")
		if err := <-done; err != nil {
			t.Errorf("%s: who has waited: %v", place.name, err)
		}
		sound(t, x)
	}
}
