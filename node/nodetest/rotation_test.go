package nodetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/cluster/trust"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

func looksOften(_ uint32, cfg *node.Config) {
	cfg.Fragments, cfg.Knobs.CertificateLook = 1, 50*time.Millisecond
}

// phases returns the phases of the authorities, and the nodes that are waited for.
func phases(t *testing.T, n *Node) (phases, waits []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	err := n.Connect(t).QueryRow(ctx, `SELECT array_agg(phase ORDER BY phase), (SELECT array_agg(w) FROM sherd.authorities, unnest(waits_for) w)
		FROM sherd.authorities`).Scan(&phases, &waits)
	if err != nil {
		t.Fatal(err)
	}
	return phases, waits
}

// rotated reports whether all nodes have certificates of one authority, different from the one
// before, and trust no other.
func rotated(c *Cluster, before trust.Fingerprint) bool {
	var now []trust.Fingerprint
	for _, n := range c.Nodes() {
		k := n.Certificates()
		now = append(now, k.Self().Issuer)
		now = append(now, k.Roots().Fingerprints()...)
	}
	slices.SortFunc(now, func(a, b trust.Fingerprint) int { return slices.Compare(a[:], b[:]) })
	now = slices.Compact(now)
	return len(now) == 1 && now[0] != before
}

// TestRotateAuthority replaces the authority of the nodes' certificates while one node is down. The
// replacement waits for that node, which comes back with its old certificate. In the end all have
// certificates of the new authority; connections stay open, and new ones can be made.
func TestRotateAuthority(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, looksOften)
	exec(t, c, 1, "CREATE TABLE t (id int PRIMARY KEY)")
	first := c.Node(1).Certificates().Self().Issuer
	c.Node(3).Stop()
	exec(t, c, 2, "SELECT sherd.rotate_authority()")
	eventually.Holds(t, "the others wait for node 3", func() bool {
		p, waits := phases(t, c.Node(1))
		return slices.Equal(p, []string{"announced", "signing"}) && slices.Equal(waits, []string{"n3"})
	})
	if err := try(c.Node(1).URL(), "SELECT sherd.rotate_authority()"); err == nil {
		t.Error("two replacements at once")
	}
	c.Node(3).Restart()
	eventually.Holds(t, "all have the new authority", func() bool { return rotated(c, first) })
	exec(t, c, 3, "INSERT INTO t VALUES (1)")
	c.Node(2).Stop()
	c.Node(2).Restart()
	exec(t, c, 2, "INSERT INTO t VALUES (2)")
	if p, _ := phases(t, c.Node(2)); !slices.Equal(p, []string{"signing"}) {
		t.Error(p)
	}
}

// TestCertificatesInTime: as time passes, nodes renew their certificates, and after a year the
// authority.
func TestCertificatesInTime(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, looksOften)
	exec(t, c, 1, "CREATE TABLE t (id int PRIMARY KEY)")
	first := c.Node(1).Certificates().Self()
	const season = 130 * 24 * time.Hour
	for i := range 3 {
		ahead := time.Duration(i+1) * season
		for _, n := range c.Nodes() {
			n.SetClock(ahead)
		}
		for _, n := range c.Nodes() {
			eventually.Holds(t, "the certificate is renewed", func() bool { return time.Now().Add(ahead + 300*24*time.Hour).Before(n.Certificates().Self().Expires) })
		}
	}
	eventually.Holds(t, "the authority is replaced", func() bool { return rotated(c, first.Issuer) })
	exec(t, c, 2, "INSERT INTO t VALUES (1)")
}
