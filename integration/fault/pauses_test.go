package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/sherddb/sherd/integration"
)

const (
	pausedRows    = 30 // rows that are read at the node that was stopped; as many are written all the time
	pausedWriters = 6
)

// TestReadsAfterPause stops a node that leads while others write, and sends reads to its sockets while it stands still and
// another leader has acknowledged a write. When it goes on, it has answers of its followers in its own sockets, to
// requests that it sent before. No read may miss the write (T5).
//
// SHERD_PAUSES is how many pauses there are, 3 unless it says otherwise.
func TestReadsAfterPause(t *testing.T) {
	pauses := 3
	if s := os.Getenv("SHERD_PAUSES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		pauses = n
	}
	c := startCluster(t, t.TempDir(), Loopback{})
	setup := integration.Connect(t, c.nodes[0].URL())
	integration.Exec(t, setup, "CREATE TABLE paused (id int PRIMARY KEY, n int NOT NULL)")
	integration.Exec(t, setup, fmt.Sprintf("INSERT INTO paused SELECT g, 0 FROM generate_series(1, %d) g", 2*pausedRows))
	rnd := rand.New(rand.NewPCG(uint64(pauses), 1))
	answered, refused := 0, 0
	for k := 1; k <= pauses; k++ {
		a, r := pauseLeader(t, c, rnd, k)
		answered += a
		refused += r
	}
	t.Logf("%d pauses: %d reads answered, %d refused", pauses, answered, refused)
}

// pauseLeader is pause k: it writes k into the rows while the node is stopped, and counts the answers.
func pauseLeader(t *testing.T, c *Cluster, rnd *rand.Rand, k int) (answered, refused int) {
	t.Helper()
	stopped, err := c.led(rnd, "SELECT n.id FROM sherd.nodes n JOIN sherd.fragments f ON f.leader = n.name ORDER BY random() LIMIT 1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	readers := make([]*pgx.Conn, pausedRows)
	for i := range readers {
		if readers[i], err = pgx.Connect(ctx, stopped.URL()); err != nil {
			t.Fatal(err)
		}
		defer readers[i].Close(context.Background())
	}
	var load sync.WaitGroup
	defer load.Wait()
	loading, stop := context.WithCancel(ctx)
	defer stop()
	wrote := make(chan struct{}, 1)
	for w := range pausedWriters {
		load.Go(func() { writeBeside(loading, c, stopped, w, wrote) })
	}
	for range 20 * pausedWriters {
		select {
		case <-wrote:
		case <-ctx.Done():
			t.Fatal("no writes")
		}
	}
	if err := c.Freeze(stopped); err != nil {
		t.Fatal(err)
	}
	err = writeUntilAcknowledged(ctx, c, stopped, k)
	for i, r := range readers {
		r.PgConn().Frontend().SendQuery(&pgproto3.Query{String: fmt.Sprintf("SELECT n FROM paused WHERE id = %d", i+1)})
		if ferr := r.PgConn().Frontend().Flush(); ferr != nil {
			t.Error(ferr)
		}
	}
	if terr := c.Thaw(stopped); terr != nil || err != nil {
		t.Fatal(err, terr)
	}
	for i, r := range readers {
		n, err := answerOf(r)
		switch {
		case err != nil:
			refused++
		case n < k:
			t.Errorf("T5: pause %d: row %d is %d at the node that was stopped, and %d was acknowledged before the read was sent", k, i+1, n, k)
		default:
			answered++
		}
	}
	return answered, refused
}

// beside returns a node that is not stopped.
func beside(c *Cluster, stopped *Node, i int) *Node {
	var others []*Node
	for _, n := range c.Nodes() {
		if n != stopped {
			others = append(others, n)
		}
	}
	return others[i%len(others)]
}

// writeBeside writes to rows that no client reads, so that answers are on their way to the leader at any moment.
func writeBeside(ctx context.Context, c *Cluster, stopped *Node, w int, wrote chan<- struct{}) {
	conn, err := pgx.Connect(ctx, beside(c, stopped, w).URL())
	if err != nil {
		return
	}
	defer conn.Close(context.Background())
	for i := w; ctx.Err() == nil && !conn.IsClosed(); i += pausedWriters {
		if _, err := conn.Exec(ctx, "UPDATE paused SET n = n WHERE id = $1", pausedRows+1+i%pausedRows); err == nil {
			select {
			case wrote <- struct{}{}:
			default:
			}
		}
	}
}

func writeUntilAcknowledged(ctx context.Context, c *Cluster, stopped *Node, k int) error {
	for i := 0; ; i++ {
		conn, err := pgx.Connect(ctx, beside(c, stopped, i).URL())
		if err == nil {
			_, err = conn.Exec(ctx, "UPDATE paused SET n = $1 WHERE id <= $2", k, pausedRows)
			conn.Close(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// answerOf reads the answer to a query that was sent.
func answerOf(conn *pgx.Conn) (n int, err error) {
	if err := conn.PgConn().Conn().SetReadDeadline(time.Now().Add(recovery)); err != nil {
		return 0, err
	}
	for {
		m, rerr := conn.PgConn().Frontend().Receive()
		if rerr != nil {
			return 0, rerr
		}
		switch m := m.(type) {
		case *pgproto3.DataRow:
			n, err = strconv.Atoi(string(m.Values[0]))
		case *pgproto3.ErrorResponse:
			err = fmt.Errorf("%s: %s", m.Code, m.Message)
		case *pgproto3.ReadyForQuery:
			return n, err
		}
	}
}
