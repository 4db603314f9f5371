package trust

import (
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	clusterA = "0d9d1a5e-3c58-4f0e-9f6e-1f2a3b4c5d6e"
	clusterB = "11111111-2222-4333-8444-555555555555"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// issued makes a key and has it certified.
func issued(t testing.TB, a *Authority, node uint32, at time.Time) (Key, Chain) {
	t.Helper()
	key := must[Key](t)(NewKey())
	return key, must[Chain](t)(a.Issue(must[[]byte](t)(key.Request()), node, at))
}

func rootsOf(t testing.TB, clusterID string, as ...*Authority) *Roots {
	t.Helper()
	var der [][]byte
	for _, a := range as {
		der = append(der, a.Cert.Raw)
	}
	return must[*Roots](t)(NewRoots(clusterID, der))
}

func parsed(t testing.TB, c Chain) []*x509.Certificate {
	t.Helper()
	return must[[]*x509.Certificate](t)(c.parse())
}

func TestVerify(t *testing.T) {
	a := must[*Authority](t)(NewAuthority(clusterA, noon))
	again := must[*Authority](t)(NewAuthority(clusterA, noon)) // says that it is the same cluster's
	b := must[*Authority](t)(NewAuthority(clusterB, noon))
	roots := rootsOf(t, clusterA, a)
	_, node3 := issued(t, a, 3, noon)
	_, forged := issued(t, again, 3, noon)
	_, other := issued(t, b, 3, noon)
	cases := []struct {
		name  string
		chain Chain
		at    time.Time
		kind  error
		says  string
	}{
		{"a node", node3, noon, nil, ""},
		{"a clock that is an hour behind", node3, noon.Add(-time.Hour), nil, ""},
		{"expired", node3, noon.Add(nodeLife + 1), ErrExpired, "node 3 expired at 2027-11-21T12:00:00Z"},
		{"not yet", node3, noon.Add(-backdate - 1), ErrExpired, "compare the clocks"},
		{"another cluster's", other, noon, ErrOtherCluster, "it is node 3 of cluster " + clusterB},
		{"an authority that is not trusted", forged, noon, ErrUntrusted, "not signed by an authority of the cluster"},
		{"an authority as a node", Chain{a.Cert.Raw}, noon, ErrStranger, "not a node of a Sherd cluster"},
		{"nothing", nil, noon, ErrStranger, "no certificate"},
	}
	for _, c := range cases {
		var certs []*x509.Certificate
		if c.chain != nil {
			certs = parsed(t, c.chain)
		}
		p, err := roots.Verify(certs, c.at)
		if !errors.Is(err, c.kind) || c.kind != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.kind == nil && (p.Node != 3 || p.ClusterID != clusterA || p.Issuer != a.Fingerprint()) {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

func TestTokenPinsTheCluster(t *testing.T) {
	a := must[*Authority](t)(NewAuthority(clusterA, noon))
	forged := must[*Authority](t)(NewAuthority(clusterA, noon))
	token := must[Token](t)(NewToken(clusterA, a.Fingerprint()))
	_, chain := issued(t, a, 1, noon)
	if p, err := VerifyPinned(parsed(t, chain), token, noon); err != nil || p.Node != 1 {
		t.Fatalf("%v, %v", p, err)
	}
	_, bad := issued(t, forged, 1, noon)
	if _, err := VerifyPinned(parsed(t, bad), token, noon); !errors.Is(err, ErrUntrusted) {
		t.Fatalf("an authority that the token does not name: %v", err)
	}
	// The right authority's certificate beside a leaf that it did not sign proves nothing.
	mixed := append(slices.Clone(bad[:1]), a.Cert.Raw)
	if _, err := VerifyPinned(parsed(t, mixed), token, noon); !errors.Is(err, ErrUntrusted) {
		t.Fatalf("a leaf of another authority: %v", err)
	}
}

// A successor is accepted by holders of older tokens, since the authority before has certified it;
// and by nodes that trust both.
func TestAuthorityReplaced(t *testing.T) {
	a := must[*Authority](t)(NewAuthority(clusterA, noon))
	token := must[Token](t)(NewToken(clusterA, a.Fingerprint()))
	b := must[*Authority](t)(NewAuthority(clusterA, noon))
	if err := b.Follow(a, noon); err != nil {
		t.Fatal(err)
	}
	b = must[*Authority](t)(ParseAuthority(must[[]byte](t)(b.Marshal())))
	_, chain := issued(t, b, 2, noon)
	if p, err := VerifyPinned(parsed(t, chain), token, noon); err != nil || p.Node != 2 || p.Issuer != b.Fingerprint() {
		t.Fatalf("%v, %v", p, err)
	}
	if _, err := rootsOf(t, clusterA, a, b).Verify(parsed(t, chain), noon); err != nil {
		t.Fatal(err)
	}
	if _, err := rootsOf(t, clusterA, b).Verify(parsed(t, chain), noon); err != nil {
		t.Fatal(err)
	}
}

func TestNextStep(t *testing.T) {
	a, b := Fingerprint{1}, Fingerprint{2}
	both, nodes := []Fingerprint{a, b}, []uint32{1, 2}
	two := func(one, two Phase) []Standing { return []Standing{{a, one}, {b, two}} }
	of := func(n1, n2 Report) map[uint32]Report { return map[uint32]Report{1: n1, 2: n2} }
	old := map[Fingerprint]time.Time{a: noon.Add(time.Hour)}
	cases := []struct {
		name     string
		standing []Standing
		reports  map[uint32]Report
		at       time.Time
		want     StepKind
		nodes    []uint32
	}{
		{"one authority", []Standing{{a, Signing}}, nil, noon, Rest, nil},
		{"nobody knows it", two(Signing, Announced), nil, noon, Wait, nodes},
		{"one does not trust it", two(Signing, Announced), of(Report{both, a}, Report{[]Fingerprint{a}, a}), noon,
			Wait, []uint32{2}},
		{"all trust it", two(Signing, Announced), of(Report{both, a}, Report{both, a}), noon, Promote, nil},
		{"one has an old certificate", two(Retiring, Signing), of(Report{both, b}, Report{both, a}), noon, Wait,
			[]uint32{2}},
		{"a token still names it", two(Retiring, Signing), of(Report{both, b}, Report{both, b}), noon, Wait, nil},
		{"nothing hangs on it", two(Retiring, Signing), of(Report{both, b}, Report{both, b}), noon.Add(time.Hour),
			Drop, nil},
	}
	for _, c := range cases {
		s := NextStep(c.standing, nodes, c.reports, old, c.at)
		if s.Kind != c.want || !slices.Equal(s.Nodes, c.nodes) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestTokenText(t *testing.T) {
	token := must[Token](t)(NewToken(clusterA, Fingerprint{1, 2, 3}))
	text := token.String()
	if got := must[Token](t)(ParseToken(" " + strings.ToUpper(text) + "\n")); got != token ||
		got.ClusterID() != clusterA {
		t.Fatalf("%v", got)
	}
	for name, bad := range map[string]string{
		"does not begin with": "K10abc",
		"does not belong":     text[:20] + "1" + text[21:],
		"incomplete":          text[:len(text)-8],
	} {
		if _, err := ParseToken(bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := byte('a')
	if text[30] == other {
		other = 'b'
	}
	if _, err := ParseToken(text[:30] + string(other) + text[31:]); err == nil ||
		!strings.Contains(err.Error(), "was changed") {
		t.Errorf("a changed character: %v", err)
	}
}

// The text of tokens may wait in somebody's notes over an upgrade: its form is kept.
func TestTokenGolden(t *testing.T) {
	const text = "sherd-join-aegz2gs6hrme6du7nypsuo2mlvxacaqdaaaaaaaaaaaaaaaaaaaaabaibqaaaaaaaaaaaaaaaaaaaad2ej7bg"
	token := Token{
		cluster: [16]byte{
			0x0d, 0x9d, 0x1a, 0x5e, 0x3c, 0x58, 0x4f, 0x0e, 0x9f, 0x6e, 0x1f, 0x2a, 0x3b, 0x4c, 0x5d, 0x6e,
		}, authority: Fingerprint{1, 2, 3}, secret: [16]byte{4, 8, 12},
	}
	if got := token.String(); got != text {
		t.Fatalf("%s", got)
	}
	if got, err := ParseToken(text); err != nil || got != token {
		t.Fatalf("%v, %v", got, err)
	}
}

func TestGrant(t *testing.T) {
	token := must[Token](t)(NewToken(clusterA, Fingerprint{}))
	fresh := Grant{Hash: HashSecret(token.Secret()), Expires: noon}
	used := fresh
	used.UsedBy, used.Node = []byte("key 1"), 4
	cases := []struct {
		name   string
		grant  Grant
		secret []byte
		key    string
		at     time.Time
		want   error
	}{
		{"in time", fresh, token.Secret(), "key 1", noon.Add(-1), nil},
		{"expired", fresh, token.Secret(), "key 1", noon, ErrTokenExpired},
		{"another secret", fresh, []byte("guess"), "key 1", noon.Add(-1), ErrTokenUnknown},
		{"asked again, late", used, token.Secret(), "key 1", noon.Add(time.Hour), nil},
		{"used by another", used, token.Secret(), "key 2", noon.Add(-1), ErrTokenUsed},
	}
	for _, c := range cases {
		if err := c.grant.Redeem(c.secret, []byte(c.key), c.at); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestKeeper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	clock := func() time.Time { return noon }
	a := must[*Authority](t)(NewAuthority(clusterA, noon))
	if _, err := OpenKeeper(dir, clock); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("an empty directory: %v", err)
	}
	pending := must[Key](t)(PendingKey(dir))
	if again := must[Key](t)(PendingKey(dir)); !again.ec.Equal(pending.ec) {
		t.Fatal("another key at the second asking")
	}
	chain := must[Chain](t)(a.Issue(must[[]byte](t)(pending.Request()), 7, noon))
	k := must[*Keeper](t)(CreateKeeper(dir, pending, chain, rootsOf(t, clusterA, a), clock))
	if err := ForgetPending(dir); err != nil {
		t.Fatal(err)
	}
	if at := k.RenewAt(); !at.After(noon) || !at.Before(noon.Add(nodeLife/2)) {
		t.Fatalf("renewal at %s", at)
	}

	b := must[*Authority](t)(NewAuthority(clusterA, noon))
	key, next := issued(t, b, 7, noon)
	if err := k.Renew(key, next); !errors.Is(err, ErrUntrusted) {
		t.Fatalf("a certificate of an authority that is not trusted: %v", err)
	}
	if err := k.SetRoots(rootsOf(t, clusterA, b)); !errors.Is(err, ErrUntrusted) {
		t.Fatalf("roots that do not vouch for the node: %v", err)
	}
	if err := k.SetRoots(rootsOf(t, clusterA, a, b)); err != nil {
		t.Fatal(err)
	}
	wrong, eight := issued(t, b, 8, noon)
	if err := k.Renew(wrong, eight); err == nil {
		t.Fatal("took the certificate of node 8")
	}
	if err := k.Renew(key, next); err != nil {
		t.Fatal(err)
	}
	k = must[*Keeper](t)(OpenKeeper(dir, clock))
	if p := k.Self(); p.Node != 7 || p.Issuer != b.Fingerprint() || len(k.Roots().Fingerprints()) != 2 {
		t.Fatalf("%+v", p)
	}
	if err := os.Chmod(filepath.Join(dir, nodeFile), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKeeper(dir, clock); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Fatalf("a key that others can read: %v", err)
	}
}

func FuzzParseToken(f *testing.F) {
	token, err := NewToken(clusterA, Fingerprint{9})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token.String())
	f.Add(tokenPrefix)
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := ParseToken(text); err == nil && got.String() != strings.ToLower(strings.TrimSpace(text)) {
			t.Fatalf("%q reads as %s", text, got)
		}
	})
}

func FuzzIssue(f *testing.F) {
	a := must[*Authority](f)(NewAuthority(clusterA, noon))
	key := must[Key](f)(NewKey())
	f.Add(must[[]byte](f)(key.Request()))
	f.Fuzz(func(t *testing.T, request []byte) {
		if _, err := KeyHash(request); err == nil {
			_, _ = a.Issue(request, 1, noon)
		}
	})
}

func FuzzParseAuthority(f *testing.F) {
	a := must[*Authority](f)(NewAuthority(clusterA, noon))
	f.Add(must[[]byte](f)(a.Marshal()))
	f.Fuzz(func(t *testing.T, text []byte) {
		if a, err := ParseAuthority(text); err == nil && a.ClusterID == "" {
			t.Fatal("an authority of no cluster")
		}
	})
}
