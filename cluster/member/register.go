package member

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/join"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/trust"
)

// Register is the list of nodes. All methods may be called concurrently.
type Register struct {
	Catalog *catalog.Catalog
	Now     func() time.Time
}

// Host returns what a node's port uses to admit others.
func (r *Register) Host(log *slog.Logger) *join.Host {
	return &join.Host{Signer: r.Signer, Roots: r.Roots, Redeem: r.Redeem,
		Contacts: r.Contacts, Announce: r.Announce, Now: r.Now, Logger: log}
}

// Found returns a node's keeper, and creates it if there is nothing yet: an authority, stored with
// the node until Establish, and a certificate that it signs. It is for the first node of a cluster,
// and needs no catalog, because the catalog's own messages need the certificate.
func Found(dir, clusterID string, node uint32, now func() time.Time) (*trust.Keeper, error) {
	k, err := trust.OpenKeeper(dir, now)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	a, err := trust.FoundAuthority(dir, clusterID, now())
	if err != nil {
		return nil, err
	}
	roots, err := trust.NewRoots(clusterID, [][]byte{a.Cert.Raw})
	if err != nil {
		return nil, err
	}
	key, chain, err := issue(a, node, now())
	if err != nil {
		return nil, err
	}
	return trust.CreateKeeper(dir, key, chain, roots, now)
}

// issue makes a key and has it certified.
func issue(a *trust.Authority, node uint32, now time.Time) (trust.Key, trust.Chain, error) {
	key, err := trust.NewKey()
	if err != nil {
		return key, nil, err
	}
	request, err := key.Request()
	if err != nil {
		return key, nil, err
	}
	chain, err := a.Issue(request, node, now)
	return key, chain, err
}

// Establish puts the authority that Found made into the catalog, if the catalog has none. A node
// that has lost its certificate, and made another by Found, gets one from the catalog's authority:
// a node with a replica of the catalog has that authority's key.
func (r *Register) Establish(ctx context.Context, k *trust.Keeper) error {
	if r.Catalog.View().SigningAuthority() == nil {
		if err := r.foundAuthority(ctx, k); err != nil {
			return err
		}
	}
	signer, err := r.Signer()
	if err != nil {
		return err
	}
	if !slices.Contains(k.Roots().Fingerprints(), signer.Fingerprint()) {
		roots, err := r.Roots()
		if err != nil {
			return err
		}
		key, chain, err := issue(signer, k.Self().Node, r.Now())
		if err != nil {
			return err
		}
		if err := k.Replace(key, chain, roots); err != nil {
			return err
		}
	}
	return trust.ForgetFounded(k.Dir())
}

func (r *Register) foundAuthority(ctx context.Context, k *trust.Keeper) error {
	a, err := trust.Founded(k.Dir())
	if errors.Is(err, fs.ErrNotExist) { // the catalog was recreated under certificates that are older
		a, err = trust.NewAuthority(k.Self().ClusterID, r.Now())
	}
	if err != nil {
		return err
	}
	_, err = r.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		if v.SigningAuthority() != nil {
			return nil
		}
		return put(ch, a, catalog.AuthoritySigning)
	})
	return err
}

// Renew certifies a new key for this node, by itself: every node holds the authority.
func (r *Register) Renew(k *trust.Keeper) error {
	signer, err := r.Signer()
	if err != nil {
		return err
	}
	key, chain, err := issue(signer, k.Self().Node, r.Now())
	if err != nil {
		return err
	}
	return k.Renew(key, chain)
}

// KeepRoots has a node trust the authorities that a view of the catalog names.
func (r *Register) KeepRoots(k *trust.Keeper) error {
	if r.Catalog.View().SigningAuthority() == nil {
		return nil // nothing is known yet
	}
	roots, err := r.Roots()
	if err != nil {
		return err
	}
	have, want := k.Roots().Fingerprints(), roots.Fingerprints()
	if len(have) == len(want) && !slices.ContainsFunc(want,
		func(f trust.Fingerprint) bool { return !slices.Contains(have, f) }) {
		return nil
	}
	return k.SetRoots(roots)
}

// put adds an authority to a change.
func put(ch *catalog.Change, a *trust.Authority, phase catalog.AuthorityPhase) error {
	secret, err := a.Marshal()
	if err != nil {
		return err
	}
	return ch.PutAuthority(&catalog.Authority{ID: number(a.Fingerprint()), Phase: phase, Secret: secret})
}

// number is how the catalog knows an authority.
func number(f trust.Fingerprint) uint64 { return binary.BigEndian.Uint64(f[:]) >> 8 }

// Signer returns the authority that signs at present.
func (r *Register) Signer() (*trust.Authority, error) {
	a := r.Catalog.View().SigningAuthority()
	if a == nil {
		return nil, errors.New("the cluster has no authority for certificates")
	}
	return trust.ParseAuthority(a.Secret)
}

// Roots returns the authorities that are trusted.
func (r *Register) Roots() (*trust.Roots, error) {
	v := r.Catalog.View()
	var certs [][]byte
	for a := range v.Authorities() {
		parsed, err := trust.ParseAuthority(a.Secret)
		if err != nil {
			return nil, err
		}
		certs = append(certs, parsed.Cert.Raw)
	}
	return trust.NewRoots(v.Cluster().ID, certs)
}

// Admit refuses a node that was removed or declared lost. A node that is unknown here has joined a
// moment ago: its certificate proves that it was admitted.
func (r *Register) Admit(p trust.Peer) error {
	if n := r.Catalog.View().RemovedNode(p.Node); n != nil {
		return fmt.Errorf("node %s (number %d) was removed from the cluster; to use the machine again, "+
			"start it with an empty data directory "+
			"and a join token", n.Name, p.Node)
	}
	if n := r.Catalog.View().LostNode(p.Node); n != nil {
		return LostError(n.Name, p.Node)
	}
	return nil
}

// Contacts returns where nodes are reached.
func (r *Register) Contacts() []*pb.Contact {
	var out []*pb.Contact
	for n := range r.Catalog.View().Nodes() {
		if n.NodeAddr != "" {
			out = append(out, &pb.Contact{Node: n.ID, Addr: n.NodeAddr})
		}
	}
	return out
}

// Addr returns the address of a node.
func (r *Register) Addr(node uint32) (string, error) {
	n := r.Catalog.View().Node(node)
	switch {
	case n == nil:
		return "", fmt.Errorf("node %d is not one of the cluster", node)
	case n.NodeAddr == "":
		return "", fmt.Errorf("node %s has told no address for nodes", n.Name)
	}
	return n.NodeAddr, nil
}
