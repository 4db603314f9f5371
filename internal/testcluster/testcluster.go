// Package testcluster is nodes' ports on loopback with certificates of one cluster and a network
// between them that fails on command, for tests of what stands on the node port.
package testcluster

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/cluster/trust"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/faultnet"
	"google.golang.org/grpc"
)

// ID is the id of the cluster of New.
const ID = "0d9d1a5e-3c58-4f0e-9f6e-1f2a3b4c5d6e"

// Version is what its nodes speak.
var Version = transport.Version{Release: "0.1.0", From: clusterversion.First, To: clusterversion.Newest}

// Cluster is nodes 1 to n.
type Cluster struct {
	Authority *trust.Authority
	Net       *faultnet.Network // hosts are named by Host
	Nodes     []*Node
}

// Node is a node's port.
type Node struct {
	Number  uint32
	Dir     string
	Keeper  *trust.Keeper
	Port    *transport.Port
	Addr    string
	Members *grpc.Server
	Joining *grpc.Server

	listener net.Listener
}

// Host names a node in the network.
func Host(node uint32) string { return strconv.FormatUint(uint64(node), 10) }

// New makes the nodes; their ports are closed until Serve. configure, if not nil, may change what a
// port is made with.
func New(t testing.TB, n int, configure func(node uint32, c *transport.Config)) *Cluster {
	t.Helper()
	a, err := trust.NewAuthority(ID, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Authority: a, Net: faultnet.New(1)}
	t.Cleanup(c.Net.Close)
	for i := range n {
		node := &Node{
			Number: uint32(i + 1), Dir: filepath.Join(t.TempDir(), "certs"),
			Members: grpc.NewServer(transport.MemberOptions()...), Joining: grpc.NewServer(transport.JoinOptions()...),
		}
		node.Keeper = Keeper(t, node.Dir, a, a, node.Number)
		if node.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		node.Addr = node.listener.Addr().String()
		cfg := transport.Config{
			Keeper: node.Keeper, Listener: node.listener, Version: Version, Logger: slog.New(slog.DiscardHandler),
			Addr: func(to uint32) (string, error) {
				if to < 1 || int(to) > len(c.Nodes) {
					return "", fmt.Errorf("no node %d", to)
				}
				return c.Nodes[to-1].Addr, nil
			},
			Dial: func(ctx context.Context, addr string) (net.Conn, error) {
				return c.Net.Dial(ctx, Host(node.Number), c.host(addr), addr)
			},
		}
		if configure != nil {
			configure(node.Number, &cfg)
		}
		node.Port = transport.New(cfg)
		c.Nodes = append(c.Nodes, node)
		t.Cleanup(node.Close)
	}
	return c
}

func (c *Cluster) host(addr string) string {
	for _, n := range c.Nodes {
		if n.Addr == addr {
			return Host(n.Number)
		}
	}
	return "?"
}

// Serve opens a node's port, after its services were registered.
func (n *Node) Serve() { go n.Port.Serve(n.Members, n.Joining) }

// Close closes a node's port.
func (n *Node) Close() {
	n.Members.Stop()
	n.Joining.Stop()
	n.Port.Close()
}

// Keeper makes the certificate of a node, signed by one authority, that trusts another.
func Keeper(t testing.TB, dir string, signs, trusted *trust.Authority, node uint32) *trust.Keeper {
	t.Helper()
	key, chain := Issue(t, signs, node)
	roots, err := trust.NewRoots(signs.ClusterID, [][]byte{trusted.Cert.Raw})
	if err != nil {
		t.Fatal(err)
	}
	k, err := trust.CreateKeeper(dir, key, chain, roots, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Issue makes a key and its certificate.
func Issue(t testing.TB, a *trust.Authority, node uint32) (trust.Key, trust.Chain) {
	t.Helper()
	key, err := trust.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	request, err := key.Request()
	if err != nil {
		t.Fatal(err)
	}
	chain, err := a.Issue(request, node, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key, chain
}
