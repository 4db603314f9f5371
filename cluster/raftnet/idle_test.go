package raftnet

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/raftgroup"
)

// TestIdleCost measures what idle groups cost three nodes in one process, with one transport for
// all and with one for each group. It asserts nothing. SHERD_MEASURE=32 is the number of groups.
func TestIdleCost(t *testing.T) {
	groups, err := strconv.Atoi(os.Getenv("SHERD_MEASURE"))
	if err != nil {
		t.Skip("SHERD_MEASURE is not set")
	}
	for _, each := range []bool{false, true} {
		t.Run(fmt.Sprintf("transport per group=%v", each), func(t *testing.T) { measureIdle(t, groups, each) })
	}
}

func measureIdle(t *testing.T, groups int, each bool) {
	var conns atomic.Int64
	dialer := &net.Dialer{}
	c := &trio{Cluster: testcluster.New(t, 3, func(_ uint32, c *transport.Config) {
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			conns.Add(1)
			return dialer.DialContext(ctx, "tcp", addr)
		}
	})}
	for _, n := range c.Nodes {
		c.mux = append(c.mux, New(n.Port, n.Members, slog.New(slog.DiscardHandler)))
		t.Cleanup(func() { c.mux[n.Number-1].Close() })
		n.Serve()
	}
	none := runtime.NumGoroutine()
	for g := range groups {
		var streams []*streamLayer
		var servers []raft.Server
		for _, n := range c.Nodes {
			s := newStreamLayer(t, n, &conns)
			streams = append(streams, s)
			servers = append(
				servers, raft.Server{ID: ServerID(n.Number), Address: raft.ServerAddress(s.Addr().String())},
			)
		}
		var all []member
		for i, n := range c.Nodes {
			j := &journal{}
			o := raftgroup.Options{
				Dir: filepath.Join(t.TempDir(), "group"), Name: fmt.Sprint(g), FSM: j, ID: ServerID(n.Number),
				Peers:  Servers(1, 2, 3),
				Logger: slog.New(slog.DiscardHandler), SegmentSize: 1 << 20,
			}
			if each {
				o.Peers = servers
				o.Transport = raft.NewNetworkTransportWithConfig(
					&raft.NetworkTransportConfig{
						Stream: streams[i], MaxPool: 3, Timeout: 10 * time.Second, Logger: hclog.NewNullLogger(),
					},
				)
			} else {
				o.Transport = c.mux[i].Transport(uint64(g + 1))
			}
			group, err := raftgroup.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, member{group, j, n.Number})
		}
		c.groups = append(c.groups, all)
	}
	for _, g := range c.groups {
		write(t, g, "x")
		same(t, g, "x")
	}
	time.Sleep(5 * time.Second)
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	const span = 20 * time.Second
	before := cpu(t)
	time.Sleep(span)
	used := cpu(t) - before
	t.Logf("%d groups on 3 nodes: %.2f %% of a core in all, %d goroutines more than none, %d connections made, %d MiB in use",
		groups, 100*used.Seconds()/span.Seconds(), runtime.NumGoroutine()-none, conns.Load(), mem.HeapInuse>>20)
	var wg sync.WaitGroup
	for _, all := range c.groups {
		for _, m := range all {
			wg.Go(func() { m.Close() })
		}
	}
	wg.Wait()
}

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// streamLayer is TLS for raft's own transport, with a port for each group and node.
type streamLayer struct {
	net.Listener
	node  *testcluster.Node
	conns *atomic.Int64
}

func newStreamLayer(t *testing.T, n *testcluster.Node, conns *atomic.Int64) *streamLayer {
	t.Helper()
	l, err := tls.Listen(
		"tcp", "127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{*n.Keeper.Certificate()}, ClientAuth: tls.RequireAnyClientCert},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &streamLayer{l, n, conns}
}

// Dial implements raft.StreamLayer.
func (s *streamLayer) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	s.conns.Add(1)
	return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, "tcp", string(addr), &tls.Config{
		InsecureSkipVerify: true, Certificates: []tls.Certificate{*s.node.Keeper.Certificate()},
	})
}
