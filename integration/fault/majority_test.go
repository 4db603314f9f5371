package fault

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/integration"
)

// TestWithoutMajority kills two nodes of three: what clients of the third are told names what is missing, after 30 s at most, and all goes on when the nodes
// are back. It is part of the long form.
func TestWithoutMajority(t *testing.T) {
	if os.Getenv("SHERD_SOAK") == "" {
		t.Skip("takes most of a minute; see make soak")
	}
	c := startCluster(t, t.TempDir(), Loopback{})
	conn := integration.Connect(t, c.nodes[0].URL())
	integration.Exec(t, conn, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	integration.Exec(t, conn, "INSERT INTO acc SELECT g, 0 FROM generate_series(1, 100) g")
	waitWhole(t, c)
	c.Kill(c.nodes[1:]...)
	var asking sync.WaitGroup
	for query, says := range map[string]string{
		"SELECT sum(n) FROM acc":              "has no leader at present",
		"UPDATE acc SET n = 3 WHERE id = 7":   "has no leader at present",
		"UPDATE acc SET n = 3":                "has no leader at present",
		"CREATE TABLE y (id int PRIMARY KEY)": "the catalog has no leader at present",
	} {
		asking.Go(func() {
			conn, err := pgx.Connect(t.Context(), c.nodes[0].URL())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close(t.Context())
			var pg *pgconn.PgError
			for again := true; again; {
				_, err = conn.Exec(t.Context(), query)
				// While node 1 takes itself for a leader, it does not know what becomes of a change.
				again = errors.As(err, &pg) && pg.Code == "40003"
			}
			if !errors.As(err, &pg) || pg.Code != "57P03" || !strings.Contains(pg.Message, says) || !strings.Contains(pg.Detail, "n2, n3") {
				t.Errorf("%s: %v", query, err)
				return
			}
			t.Logf("%s: %s", query, describe(err))
		})
	}
	asking.Wait()
	if err := c.Start(c.nodes[1:]...); err != nil {
		t.Fatal(err)
	}
	waitWhole(t, c)
	integration.Exec(t, integration.Connect(t, c.nodes[0].URL()), "UPDATE acc SET n = 4")
}
