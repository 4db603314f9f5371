package transport_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/cluster/trust"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testcluster"
)

// whoami answers with the number of the node that calls.
type whoami struct {
	pb.UnimplementedMembershipServer
}

func (whoami) Renew(ctx context.Context, _ *pb.RenewRequest) (*pb.RenewResponse, error) {
	p, ok := transport.PeerOf(ctx)
	if !ok {
		return nil, errors.New("nobody")
	}
	return &pb.RenewResponse{Chain: [][]byte{[]byte(fmt.Sprint(p.Node))}}, nil
}

func serve(c *testcluster.Cluster) {
	for _, n := range c.Nodes {
		pb.RegisterMembershipServer(n.Members, whoami{})
		n.Serve()
	}
}

// ask calls another node and gives whom that takes us for.
func ask(t *testing.T, d *transport.Port, node uint32) (string, error) {
	t.Helper()
	l, err := d.Link(node, transport.TaskLink)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, err := pb.NewMembershipClient(l).Renew(ctx, &pb.RenewRequest{})
	if err != nil {
		return "", errors.Join(err, l.Err())
	}
	return string(r.Chain[0]), nil
}

func TestPeersAreKnownByTheirCertificates(t *testing.T) {
	c := testcluster.New(t, 2, nil)
	serve(c)
	for from, to := range map[int]uint32{0: 2, 1: 1} {
		got, err := ask(t, c.Nodes[from].Port, to)
		if want := fmt.Sprint(from + 1); err != nil || got != want {
			t.Errorf("node %s is taken for %q: %v", want, got, err)
		}
	}
}

// TestRefusals: a refused node learns the reason, and a node that connects to the wrong address
// notices before it sends anything.
func TestRefusals(t *testing.T) {
	other, err := trust.NewAuthority("11111111-2222-4333-8444-555555555555", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	forged, err := trust.NewAuthority(testcluster.ID, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(2 * 365 * 24 * time.Hour)
	cases := []struct {
		name   string
		change func(t *testing.T, own *trust.Authority, c *transport.Config) // of node 2, which connects to node 1
		to     uint32
		says   string
	}{
		{"another cluster", func(t *testing.T, own *trust.Authority, c *transport.Config) {
			c.Keeper = testcluster.Keeper(t, filepath.Join(t.TempDir(), "c"), other, other, 2)
		}, 1, "not trusted: it is node 1 of cluster " + testcluster.ID},
		{"an authority that only the caller trusts", func(t *testing.T, own *trust.Authority, c *transport.Config) {
			c.Keeper = testcluster.Keeper(t, filepath.Join(t.TempDir(), "c"), forged, own, 2)
		}, 1, "is not signed by an authority of the cluster"},
		{"an authority that the caller does not trust", func(t *testing.T, own *trust.Authority, c *transport.Config) {
			c.Keeper = testcluster.Keeper(t, filepath.Join(t.TempDir(), "c"), own, forged, 2)
		}, 1, "is not trusted: its certificate as node 1"},
		{"a newer release", func(t *testing.T, own *trust.Authority, c *transport.Config) {
			c.Version = transport.Version{Release: "0.9.0", From: 7, To: 8}
		}, 1, "upgrade the nodes of the cluster first"},
		{"removed", func(t *testing.T, own *trust.Authority, c *transport.Config) {
			c.Keeper = testcluster.Keeper(t, filepath.Join(t.TempDir(), "c"), own, own, 66)
		}, 1, "node 66 was removed"},
		{"another node answers", func(t *testing.T, own *trust.Authority, c *transport.Config) {
			addr := c.Addr
			c.Addr = func(uint32) (string, error) { return addr(1) }
		}, 3, "it is node 1 of cluster " + testcluster.ID + ", and not node 3"},
		{"no node", func(t *testing.T, own *trust.Authority, c *transport.Config) {
			c.Addr = func(uint32) (string, error) { return "127.0.0.1:1", nil }
		}, 1, "cannot reach a node at 127.0.0.1:1"},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			var own transport.Config
			c := testcluster.New(t, 2, func(node uint32, c *transport.Config) {
				if node == 2 {
					own = *c
				}
				c.Admit = func(p trust.Peer) error {
					if p.Node == 66 {
						return errors.New("node 66 was removed")
					}
					return nil
				}
			})
			serve(c)
			k.change(t, c.Authority, &own)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			own.Listener = listener
			d := transport.New(own)
			defer d.Close()
			if _, err := ask(t, d, k.to); err == nil || !strings.Contains(err.Error(), k.says) {
				t.Fatalf("%v", err)
			}
		})
	}
	t.Run("expired", func(t *testing.T) {
		var clock atomic.Pointer[time.Time]
		c := testcluster.New(t, 2, func(node uint32, c *transport.Config) {
			if node == 1 {
				c.Keeper = keeperAt(t, c.Keeper, func() time.Time { return *clock.Load() })
			}
		})
		clock.Store(&later)
		serve(c)
		if _, err := ask(t, c.Nodes[1].Port, 1); err == nil || !strings.Contains(err.Error(), "compare the clocks") {
			t.Fatalf("%v", err)
		}
	})
}

// keeperAt gives a keeper that reads the same files by another clock.
func keeperAt(t *testing.T, k *trust.Keeper, now func() time.Time) *trust.Keeper {
	t.Helper()
	at, err := trust.OpenKeeper(k.Dir(), now)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Things that are no node, on either side.
func TestNotANode(t *testing.T) {
	c := testcluster.New(t, 1, nil)
	serve(c)
	conn, err := tls.Dial("tcp", c.Nodes[0].Addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err == nil {
		conn.Close()
		t.Error("a browser was let in")
	}
	plain, err := net.Dial("tcp", c.Nodes[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	io.WriteString(plain, "GET / HTTP/1.1\r\n\r\n")
	plain.SetReadDeadline(time.Now().Add(30 * time.Second))
	if answer, err := io.ReadAll(plain); err != nil || bytes.Contains(answer, []byte("HTTP/1.1 2")) {
		t.Errorf("%q, %v", answer, err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0") // speaks as a client port does: an error message
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			s.Read(make([]byte, 100))
			io.WriteString(s, "E\x00\x00\x00\x20SFATAL\x00C08P01\x00")
			s.Close()
		}
	}()
	token, err := trust.NewToken(testcluster.ID, c.Authority.Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	_, err = transport.Join(context.Background(), l.Addr().String(), token, testcluster.Version, time.Now, nil)
	if err == nil || !strings.Contains(err.Error(), "not the node port") {
		t.Errorf("%v", err)
	}
}

// New certificates of a new authority, node after node, while connections stand; then the old
// authority goes.
func TestRotation(t *testing.T) {
	c := testcluster.New(t, 2, nil)
	serve(c)
	from := c.Nodes[0].Port
	if _, err := ask(t, from, 2); err != nil {
		t.Fatal(err)
	}
	before := c.Net.Conns("1", "2")
	next, err := trust.NewAuthority(testcluster.ID, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Follow(c.Authority, time.Now()); err != nil {
		t.Fatal(err)
	}
	setRoots := func(as ...*trust.Authority) {
		var der [][]byte
		for _, a := range as {
			der = append(der, a.Cert.Raw)
		}
		roots, err := trust.NewRoots(testcluster.ID, der)
		for _, n := range c.Nodes {
			if err == nil {
				err = n.Keeper.SetRoots(roots)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fresh := func() { // a connection made now
		t.Helper()
		l, err := c.Nodes[1].Port.Link(1, transport.RaftLink)
		if err != nil {
			t.Fatal(err)
		}
		l.Reset()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		for {
			_, err := pb.NewMembershipClient(l).Renew(ctx, &pb.RenewRequest{})
			if err == nil {
				return
			}
			if ctx.Err() != nil {
				t.Fatal(err, l.Err())
			}
		}
	}
	setRoots(c.Authority, next)
	for _, n := range c.Nodes {
		key, chain := testcluster.Issue(t, next, n.Number)
		if err := n.Keeper.Renew(key, chain); err != nil {
			t.Fatal(err)
		}
		fresh()
	}
	setRoots(next)
	fresh()
	if _, err := ask(t, from, 2); err != nil {
		t.Fatal(err)
	}
	if after := c.Net.Conns("1", "2"); after != before {
		t.Fatalf("%d connections before, %d after", before, after)
	}
}

func TestEvict(t *testing.T) {
	var removed atomic.Bool
	c := testcluster.New(t, 2, func(_ uint32, c *transport.Config) {
		c.Admit = func(p trust.Peer) error {
			if p.Node == 2 && removed.Load() {
				return errors.New("node 2 was removed from the cluster")
			}
			return nil
		}
	})
	serve(c)
	if _, err := ask(t, c.Nodes[1].Port, 1); err != nil {
		t.Fatal(err)
	}
	removed.Store(true)
	c.Nodes[0].Port.Evict(2)
	eventually.Holds(t, "it is told that it was removed", func() bool {
		_, err := ask(t, c.Nodes[1].Port, 1)
		return err != nil && strings.Contains(err.Error(), "was removed")
	})
}
