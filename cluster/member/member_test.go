package member

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/join"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/cluster/trust"
	"google.golang.org/grpc"
)

const clusterID = "0d9d1a5e-3c58-4f0e-9f6e-1f2a3b4c5d6e"

var version = transport.Version{Release: "0.1.0", From: 1, To: 1}

func open(t *testing.T, dir string) *Register {
	t.Helper()
	c, err := catalog.Open(catalog.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = c.Bootstrap(ctx, catalog.BootstrapOptions{
		ClusterID: clusterID, Fragments: 1, Node: catalog.Node{ID: 1, Name: "n1", Block: "A", SQLAddr: "127.0.0.1:5433", NodeAddr: "127.0.0.1:7433"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &Register{Catalog: c, Now: time.Now}
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// found is what the first node does: it makes its certificates, then tells the catalog.
func found(t *testing.T, r *Register, dir string) *trust.Keeper {
	t.Helper()
	k := must[*trust.Keeper](t)(Found(dir, clusterID, 1, r.Now))
	if err := r.Establish(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	return k
}

// keyHash makes a key and gives its hash.
func keyHash(t *testing.T) []byte {
	t.Helper()
	key := must[trust.Key](t)(trust.NewKey())
	return must[[]byte](t)(trust.KeyHash(must[[]byte](t)(key.Request())))
}

// The first node founds the cluster's trust, once; a second joins over the port and is one of the cluster.
func TestFoundAndJoin(t *testing.T) {
	r := open(t, t.TempDir())
	dir := filepath.Join(t.TempDir(), "certs")
	keeper := found(t, r, dir)
	again := found(t, r, dir)
	if keeper.Self().Issuer != again.Self().Issuer || len(again.Roots().Fingerprints()) != 1 {
		t.Fatalf("%+v, %+v", keeper.Self(), again.Self())
	}
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	log := slog.New(slog.DiscardHandler)
	d := transport.New(transport.Config{Keeper: keeper, Listener: l, Version: version, Admit: r.Admit, Addr: r.Addr, Logger: log})
	joining, members := grpc.NewServer(transport.JoinOptions()...), grpc.NewServer(transport.MemberOptions()...)
	r.Host(log).Register(joining, members)
	go d.Serve(members, joining)
	t.Cleanup(func() {
		members.Stop()
		joining.Stop()
		d.Close()
	})

	j, err := join.Join(t.Context(), join.Request{
		Addrs: []string{l.Addr().String()}, Token: must[trust.Token](t)(r.NewToken(t.Context(), time.Hour, 0)), Dir: filepath.Join(t.TempDir(), "certs"),
		Version: version, Now: time.Now, Info: &pb.NodeInfo{NodeAddr: "10.0.0.2:7433", Labels: map[string]string{"zone": "b"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := r.Catalog.View().Node(j.Node)
	if n == nil || j.Name != n.Name || n.Block != "B" || n.NodeAddr != "10.0.0.2:7433" || n.Labels["zone"] != "b" {
		t.Fatalf("%+v", n)
	}
	if err := r.Admit(j.Keeper.Self()); err != nil {
		t.Error(err)
	}
	if addr, err := r.Addr(j.Node); err != nil || addr != n.NodeAddr {
		t.Errorf("%q, %v", addr, err)
	}
	if err := r.Admit(trust.Peer{Node: 77}); err != nil {
		t.Errorf("a node that joined while this one was away: %v", err)
	}
	must[*catalog.View](t)(r.Catalog.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error { return ch.RemoveNode(n) }))
	if err := r.Admit(j.Keeper.Self()); err == nil || !strings.Contains(err.Error(), "node n2 (number 2) was removed") {
		t.Errorf("a node that was removed: %v", err)
	}
}

// One token, many machines at once: one of them is let in, and told the same again.
func TestTokenLetsInOne(t *testing.T) {
	r := open(t, t.TempDir())
	found(t, r, filepath.Join(t.TempDir(), "certs"))
	token := must[trust.Token](t)(r.NewToken(t.Context(), time.Hour, 0))
	var wg sync.WaitGroup
	var in atomic.Int64
	var winner atomic.Pointer[[]byte]
	for range 8 {
		key := keyHash(t)
		wg.Go(func() {
			_, _, err := r.Redeem(t.Context(), token.Secret(), key, &pb.NodeInfo{})
			switch {
			case err == nil:
				in.Add(1)
				winner.Store(&key)
			case !errors.Is(err, trust.ErrTokenUsed):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 {
		t.Fatalf("%d were let in", in.Load())
	}
	node, name, err := r.Redeem(t.Context(), token.Secret(), *winner.Load(), &pb.NodeInfo{})
	if err != nil || r.Catalog.View().Node(node).Name != name {
		t.Fatalf("node %d, %q, %v", node, name, err)
	}
	count := 0
	for range r.Catalog.View().Nodes() {
		count++
	}
	if count != 2 {
		t.Fatalf("%d nodes", count)
	}
	if _, err := r.Catalog.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error { ch.DropNode(node); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Redeem(t.Context(), token.Secret(), *winner.Load(), &pb.NodeInfo{}); err == nil || !strings.Contains(err.Error(), "was removed") {
		t.Fatalf("a removed node: %v", err)
	}
}

// A node that was declared lost is refused at the handshake, may say nothing of itself, and no token lets it in again. It can be declared lost twice.
func TestLostNodeStaysOut(t *testing.T) {
	r := open(t, t.TempDir())
	found(t, r, filepath.Join(t.TempDir(), "certs"))
	node, _, err := r.Redeem(t.Context(), must[trust.Token](t)(r.NewToken(t.Context(), time.Hour, 0)).Secret(), keyHash(t), &pb.NodeInfo{NodeAddr: "10.0.0.2:7433"})
	if err != nil {
		t.Fatal(err)
	}
	again := must[trust.Token](t)(r.NewToken(t.Context(), time.Hour, node))
	for range 2 {
		if err := r.DeclareLost(t.Context(), []uint32{node, 77}); err != nil {
			t.Fatal(err)
		}
	}
	const want = "node n2 (number 2) was declared lost"
	refusals := map[string]error{
		"handshake": r.Admit(trust.Peer{Node: node}), "announcement": r.Announce(t.Context(), node, &pb.NodeInfo{NodeAddr: "10.0.0.3:7433"}),
	}
	_, _, refusals["token"] = r.Redeem(t.Context(), again.Secret(), keyHash(t), &pb.NodeInfo{Node: node})
	for what, err := range refusals {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := r.Catalog.View().Node(node); n == nil || n.State != catalog.NodeLost || n.NodeAddr != "10.0.0.2:7433" {
		t.Errorf("%+v", n)
	}
}

// A node that has lost its certificate comes back as itself, at another address; names are not taken from others.
func TestTokenForANode(t *testing.T) {
	r := open(t, t.TempDir())
	found(t, r, filepath.Join(t.TempDir(), "certs"))
	if _, err := r.NewToken(t.Context(), time.Hour, 9); err == nil {
		t.Error("a token for a node that is not there")
	}
	token := must[trust.Token](t)(r.NewToken(t.Context(), time.Hour, 1))
	if _, _, err := r.Redeem(t.Context(), token.Secret(), keyHash(t), &pb.NodeInfo{}); err == nil || !strings.Contains(err.Error(), "sherd node remove n1") {
		t.Errorf("a node without its data: %v", err)
	}
	node, name, err := r.Redeem(t.Context(), token.Secret(), keyHash(t), &pb.NodeInfo{Name: "other", NodeAddr: "10.0.0.9:7433", Node: 1})
	if err != nil || node != 1 || name != "n1" {
		t.Fatalf("%d, %q, %v", node, name, err)
	}
	if addr, _ := r.Addr(1); addr != "10.0.0.9:7433" {
		t.Errorf("address %q", addr)
	}
	token = must[trust.Token](t)(r.NewToken(t.Context(), time.Hour, 0))
	if _, _, err := r.Redeem(t.Context(), token.Secret(), keyHash(t), &pb.NodeInfo{Node: 1}); err == nil || !strings.Contains(err.Error(), "--for") {
		t.Errorf("a node with data and a token for a new one: %v", err)
	}
	if _, _, err := r.Redeem(t.Context(), token.Secret(), keyHash(t), &pb.NodeInfo{Name: "n1"}); err == nil || !strings.Contains(err.Error(), "--node-name") {
		t.Fatalf("a name that is taken: %v", err)
	}
	if _, _, err := r.Redeem(t.Context(), token.Secret(), keyHash(t), &pb.NodeInfo{Name: "n2"}); err != nil {
		t.Fatalf("the refusal cost the token: %v", err)
	}
}

func TestReplaceAuthority(t *testing.T) {
	r := open(t, t.TempDir())
	clock := time.Now()
	r.Now = func() time.Time { return clock }
	found(t, r, filepath.Join(t.TempDir(), "certs"))
	must[trust.Token](t)(r.NewToken(t.Context(), time.Hour, 0)) // of the old authority
	old := must[*trust.Authority](t)(r.Signer()).Fingerprint()
	if err := r.ReplaceAuthority(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.ReplaceAuthority(t.Context()); err == nil {
		t.Error("two replacements at once")
	}
	both := must[*trust.Roots](t)(r.Roots()).Fingerprints()
	next := both[1-slices.Index(both, old)]
	advance := func(want trust.StepKind, report trust.Report) {
		t.Helper()
		step, err := r.Advance(t.Context(), map[uint32]trust.Report{1: report})
		if err != nil || step.Kind != want {
			t.Fatalf("%+v, %v", step, err)
		}
	}
	advance(trust.Wait, trust.Report{Trusts: []trust.Fingerprint{old}, Issuer: old})
	advance(trust.Promote, trust.Report{Trusts: both, Issuer: old})
	if got := must[*trust.Authority](t)(r.Signer()).Fingerprint(); got != next {
		t.Fatalf("%s signs", got)
	}
	advance(trust.Wait, trust.Report{Trusts: both, Issuer: old})
	advance(trust.Wait, trust.Report{Trusts: both, Issuer: next}) // the token
	clock = clock.Add(2 * time.Hour)
	advance(trust.Drop, trust.Report{Trusts: both, Issuer: next})
	advance(trust.Rest, trust.Report{})
	if got := must[*trust.Roots](t)(r.Roots()).Fingerprints(); len(got) != 1 || got[0] != next {
		t.Fatalf("%v", got)
	}
}

func TestBlocks(t *testing.T) {
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 51: "AZ", 52: "BA", 701: "ZZ", 702: "AAA"} {
		if got := block(i); got != want {
			t.Error(fmt.Sprint(i), got)
		}
	}
}

// A node that has lost its certificate, and not its data, is given one of the cluster's authority; a second start changes nothing.
func TestEstablishAgain(t *testing.T) {
	r := open(t, t.TempDir())
	dir := filepath.Join(t.TempDir(), "certs")
	first := found(t, r, dir)
	if again := found(t, r, dir); again.Self().Issuer != first.Self().Issuer {
		t.Errorf("%+v, %+v", first.Self(), again.Self())
	}
	other := filepath.Join(t.TempDir(), "certs")
	lost := found(t, r, other)
	if got, want := lost.Self().Issuer, first.Self().Issuer; got != want {
		t.Errorf("the authority is %s, not %s", got, want)
	}
	if opened := must[*trust.Keeper](t)(trust.OpenKeeper(other, r.Now)); opened.Self() != lost.Self() {
		t.Errorf("on disk: %+v", opened.Self())
	}
	if _, err := trust.Founded(other); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the authority's key is left: %v", err)
	}
}

func TestContacts(t *testing.T) {
	dir := t.TempDir()
	c := must[*Contacts](t)(OpenContacts(dir))
	if err := c.Take([]*pb.Contact{{Node: 1, Addr: "a:1"}, {Node: 3, Addr: "c:3"}}); err != nil {
		t.Fatal(err)
	}
	c = must[*Contacts](t)(OpenContacts(dir))
	if addr, err := c.Addr(3); addr != "c:3" || err != nil || !slices.Equal(c.Nodes(), []uint32{1, 3}) {
		t.Errorf("%q, %v, %v", addr, err, c.Nodes())
	}
	r := open(t, t.TempDir())
	if err := c.Follow(r.Catalog.View()); err != nil {
		t.Fatal(err)
	}
	if err := c.Take([]*pb.Contact{{Node: 9, Addr: "x:9"}}); err != nil { // older than the view
		t.Fatal(err)
	}
	c = must[*Contacts](t)(OpenContacts(dir))
	if addr, _ := c.Addr(1); addr != "127.0.0.1:7433" || len(c.Nodes()) != 1 {
		t.Errorf("%q, %v", addr, c.Nodes())
	}
	for _, text := range []string{"", "nonsense", contactsHeader + " version 3\n1 a:1\n", contactsHeader + " version 3\nx\nend\n"} {
		if _, _, ok := parseContacts(text); ok {
			t.Errorf("%q was read", text)
		}
	}
}

func FuzzContacts(f *testing.F) {
	f.Add(contactsText(7, map[uint32]string{1: "a:1", 3: "[::1]:7433"}))
	f.Fuzz(func(t *testing.T, text string) {
		if version, addrs, ok := parseContacts(text); ok {
			if v, again, ok := parseContacts(contactsText(version, addrs)); !ok || v != version || !maps.Equal(again, addrs) {
				t.Errorf("%q", text)
			}
		}
	})
}
