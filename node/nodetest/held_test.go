package nodetest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/node"
)

// holder holds back what one node sends over the connections that it opened to another one, among
// it the changes of the catalog that it leads. The other node's requests are answered meanwhile.
type holder struct {
	to      atomic.Pointer[string] // address of the other node
	mu      sync.Mutex
	release chan struct{} // closed if nothing is held; guarded by mu
}

func newHolder() *holder {
	h := &holder{release: make(chan struct{})}
	close(h.release)
	return h
}

// hold begins to hold back, and returns the function that ends it.
func (h *holder) hold() (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.release = make(chan struct{})
	return sync.OnceFunc(func() { close(h.release) })
}

func (h *holder) released() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.release
}

type dialer = func(ctx context.Context, addr string) (net.Conn, error)

// dial wraps the connections to the other node.
func (h *holder) dial(next dialer) dialer {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := next(ctx, addr)
		if to := h.to.Load(); err != nil || to == nil || addr != *to {
			return c, err
		}
		return &heldConn{Conn: c, h: h, closed: make(chan struct{})}, nil
	}
}

type heldConn struct {
	net.Conn
	h      *holder
	once   sync.Once
	closed chan struct{}
}

func (c *heldConn) Write(b []byte) (int, error) {
	select {
	case <-c.h.released():
		return c.Conn.Write(b)
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *heldConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// TestSplitWhereDefinitionsAreOld: a node that does not know yet which documents other nodes have
// split does not take one of their numbers. It says that its definitions are old.
func TestSplitWhereDefinitionsAreOld(t *testing.T) {
	t.Parallel()
	h := newHolder()
	c := Start(t, 3, func(number uint32, cfg *node.Config) {
		switch number {
		case 1:
			cfg.Knobs.Dial = h.dial(cfg.Knobs.Dial)
		case 3:
			h.to.Store(&cfg.NodeAddr)
		}
	})
	exec(t, c, 1, "CREATE TABLE n (id text PRIMARY KEY, v bigint) WITH (counters = 'v')")
	exec(t, c, 1, "INSERT INTO n SELECT 'n/' || i, i FROM generate_series(1, 9) i")
	exec(t, c, 1, "SELECT sherd.hot_split('n/1', 8)")
	behind := c.Node(3).Connect(t)
	split := func() error {
		_, err := behind.Exec(t.Context(), "SELECT sherd.hot_split('n/3', 8)", pgx.QueryExecModeSimpleProtocol)
		return err
	}
	if !c.Node(1).Catalog().Leads() {
		t.Fatal("node 1 does not lead the catalog")
	}

	release := h.hold()
	defer release()
	exec(t, c, 2, "SELECT sherd.hot_split('n/2', 8)")
	if err := split(); code(err) != pgerr.CannotConnectNow {
		t.Errorf("the split at a node with old definitions: %v", err)
	}
	release()
	eventually.Holds(t, "the document is split once the node knows the definitions", func() bool { return split() == nil })
	exec(t, c, 3, "UPDATE n SET v = v + 1")
	for number := range uint32(3) {
		exec(t, c, number+1, "SELECT 1/(count(*) = 9 AND sum(v) = 54)::int FROM n")
	}
	exec(t, c, 3, "SELECT 1/(count(*) = 0)::int FROM sherd.check() WHERE NOT ok")
}
