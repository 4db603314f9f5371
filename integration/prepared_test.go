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
