package join

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/cluster/trust"
	"github.com/sherddb/sherd/internal/testcluster"
	"google.golang.org/grpc"
)

// gate is a cluster of one node that lets others in. It keeps grants as the catalog does: all at once, under one lock.
type gate struct {
	*testcluster.Cluster
	mu     sync.Mutex
	grants []*trust.Grant
	last   uint32 // number given
	lose   bool   // the next answer is lost after the token was taken
}

func newGate(t *testing.T, configure func(uint32, *transport.Config)) *gate {
	t.Helper()
	g := &gate{Cluster: testcluster.New(t, 1, configure), last: 1}
	n := g.Nodes[0]
	h := &Host{
		Signer: func() (*trust.Authority, error) { return g.Authority, nil }, Roots: func() (*trust.Roots, error) { return n.Keeper.Roots(), nil }, Redeem: g.redeem, Now: time.Now,
		Contacts: func() []*pb.Contact { return []*pb.Contact{{Node: 1, Addr: n.Addr}} }, Logger: slog.New(slog.DiscardHandler),
	}
	h.Register(n.Joining, n.Members)
	n.Serve()
	return g
}

func (g *gate) redeem(_ context.Context, secret, keyHash []byte, info *pb.NodeInfo) (uint32, string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, grant := range g.grants {
		if !bytes.Equal(grant.Hash, trust.HashSecret(secret)) {
			continue
		}
		if err := grant.Redeem(secret, keyHash, time.Now()); err != nil {
			return 0, "", err
		}
		if grant.Node == 0 {
			g.last++
			grant.Node = g.last
		}
		grant.UsedBy = keyHash
		if g.lose {
			g.lose = false
			return 0, "", errors.New("the connection was lost")
		}
		return grant.Node, "n" + testcluster.Host(grant.Node), nil
	}
	return 0, "", trust.UnknownToken()
}

func (g *gate) token(t *testing.T, life time.Duration) trust.Token {
	t.Helper()
	token, err := trust.NewToken(testcluster.ID, g.Authority.Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.grants = append(g.grants, &trust.Grant{Hash: trust.HashSecret(token.Secret()), Expires: time.Now().Add(life)})
	return token
}

func (g *gate) request(t *testing.T, token trust.Token) Request {
	return Request{
		Addrs: []string{g.Nodes[0].Addr}, Token: token, Dir: filepath.Join(t.TempDir(), "certs"), Version: testcluster.Version, Now: time.Now,
		Info: &pb.NodeInfo{NodeAddr: "127.0.0.1:7434"},
	}
}

// member is a node that has joined, with a port of its own.
func (g *gate) member(t *testing.T, k *trust.Keeper) *transport.Port {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := transport.New(transport.Config{
		Keeper: k, Listener: l, Version: testcluster.Version, Logger: slog.New(slog.DiscardHandler),
		Addr: func(uint32) (string, error) { return g.Nodes[0].Addr, nil },
	})
	t.Cleanup(func() { d.Close() })
	return d
}

func TestJoinAndRenew(t *testing.T) {
	g := newGate(t, nil)
	r := g.request(t, g.token(t, time.Hour))
	r.Addrs = append([]string{"127.0.0.1:1"}, r.Addrs...) // one that is down
	j, err := Join(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if j.Node != 2 || j.Name != "n2" || len(j.Contacts) != 1 || j.Contacts[0].Addr != g.Nodes[0].Addr {
		t.Fatalf("%+v", j)
	}
	k, err := trust.OpenKeeper(r.Dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	before := k.Certificate().Leaf.SerialNumber
	link, err := g.member(t, k).Link(1, transport.TaskLink)
	if err != nil {
		t.Fatal(err)
	}
	if err := Renew(context.Background(), k, link); err != nil {
		t.Fatal(err, link.Err())
	}
	if k.Certificate().Leaf.SerialNumber.Cmp(before) == 0 || k.Self().Node != 2 {
		t.Fatalf("not renewed: %+v", k.Self())
	}
}

// An answer that is lost costs neither the token nor a number.
func TestLostAnswer(t *testing.T) {
	g := newGate(t, nil)
	r := g.request(t, g.token(t, time.Hour))
	g.mu.Lock()
	g.lose = true
	g.mu.Unlock()
	if _, err := Join(context.Background(), r); err == nil || !strings.Contains(err.Error(), "connection was lost") {
		t.Fatal(err)
	}
	j, err := Join(context.Background(), r)
	if err != nil || j.Node != 2 {
		t.Fatalf("%+v, %v", j, err)
	}
	// Another machine with the same token is not the same node.
	other := g.request(t, r.Token)
	if _, err := Join(context.Background(), other); err == nil || !strings.Contains(err.Error(), "was used already, for node 2") {
		t.Fatal(err)
	}
}

func TestRefused(t *testing.T) {
	var asked atomic.Int64
	g := newGate(t, func(_ uint32, c *transport.Config) { c.Admit = func(trust.Peer) error { asked.Add(1); return nil } })
	unknown, err := trust.NewToken(testcluster.ID, g.Authority.Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	otherCluster, err := trust.NewToken("11111111-2222-4333-8444-555555555555", g.Authority.Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	otherAuthority, err := trust.NewToken(testcluster.ID, trust.Fingerprint{1})
	if err != nil {
		t.Fatal(err)
	}
	newer := transport.Version{Release: "9.0.0", From: testcluster.Version.To + 1, To: testcluster.Version.To + 2}
	cases := []struct {
		name    string
		token   trust.Token
		version transport.Version
		says    string
	}{
		{"unknown", unknown, testcluster.Version, "does not know this join token"},
		{"expired", g.token(t, -time.Minute), testcluster.Version, "this join token expired at"},
		{"of another cluster", otherCluster, testcluster.Version, "the join token is for cluster 11111111"},
		{"of another authority", otherAuthority, testcluster.Version, "not signed by the authority that the join token names"},
		{"a newer release", g.token(t, time.Hour), newer, "upgrade the nodes of the cluster first"},
	}
	for _, c := range cases {
		r := g.request(t, c.token)
		r.Version = c.version
		if _, err := Join(context.Background(), r); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if g.last != 1 {
		t.Errorf("a number was given: %d", g.last)
	}
	if asked.Load() != 0 {
		t.Error("one that joins was taken for a member")
	}
}

// Who has no certificate gets to the service of joining and to no other.
func TestStrangersReachNothingElse(t *testing.T) {
	g := newGate(t, nil)
	cc, err := transport.Join(context.Background(), g.Nodes[0].Addr, g.token(t, time.Hour), testcluster.Version, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	if _, err := pb.NewMembershipClient(cc).Renew(context.Background(), &pb.RenewRequest{}); err == nil {
		t.Fatal("a stranger's certificate was renewed")
	}
	var s grpc.ClientStream
	if s, err = pb.NewRaftClient(cc).InstallSnapshot(context.Background()); err == nil {
		err = s.RecvMsg(&pb.RaftResponse{})
	}
	if err == nil {
		t.Fatal("a stranger sent a snapshot")
	}
}

func TestKeepRenewed(t *testing.T) {
	g := newGate(t, nil)
	var ahead atomic.Int64
	r := g.request(t, g.token(t, time.Hour))
	looked := make(chan bool, 100) // at the clock
	r.Now = func() time.Time {
		now := time.Now().Add(time.Duration(ahead.Load()))
		looked <- true
		return now
	}
	j, err := Join(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	tick, asked, ended := make(chan time.Time), make(chan bool, 8), make(chan bool)
	answers := []error{errors.New("no node can be reached"), nil, nil}
	var replaced atomic.Bool
	go func() {
		defer close(ended)
		KeepRenewed(ctx, j.Keeper, tick, replaced.Load, func(context.Context) error {
			asked <- true
			err := answers[0]
			answers = answers[1:]
			return err
		}, slog.New(slog.DiscardHandler))
	}()
	for len(looked) > 0 {
		<-looked
	}
	tick <- time.Time{} // too early
	<-looked
	ahead.Store(int64(150 * 24 * time.Hour))
	tick <- time.Time{}
	tick <- time.Time{} // again, since the first failed
	ahead.Store(0)
	replaced.Store(true) // another authority signs
	tick <- time.Time{}
	cancel()
	<-ended
	if len(asked) != 3 {
		t.Fatalf("asked %d times", len(asked))
	}
}
