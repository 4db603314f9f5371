package member

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
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

// Host is what a node's port lets others in with.
func (r *Register) Host(log *slog.Logger) *join.Host {
	return &join.Host{Signer: r.Signer, Roots: r.Roots, Redeem: r.Redeem, Contacts: r.Contacts, Now: r.Now, Logger: log}
}

// Found makes the authority of a cluster that has none yet, and the certificate of a node that has none yet. It is for nodes that are in the catalog:
// the first one, and those of clusters that were made before there were certificates.
func (r *Register) Found(ctx context.Context, dir string, node uint32) (*trust.Keeper, error) {
	if err := r.foundAuthority(ctx); err != nil {
		return nil, err
	}
	k, err := trust.OpenKeeper(dir, r.Now)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if r.Catalog.View().Node(node) == nil {
		return nil, fmt.Errorf("node %d is not one of the cluster", node)
	}
	signer, err := r.Signer()
	if err != nil {
		return nil, err
	}
	key, err := trust.NewKey()
	if err != nil {
		return nil, err
	}
	request, err := key.Request()
	if err != nil {
		return nil, err
	}
	chain, err := signer.Issue(request, node, r.Now())
	if err != nil {
		return nil, err
	}
	roots, err := r.Roots()
	if err != nil {
		return nil, err
	}
	return trust.CreateKeeper(dir, key, chain, roots, r.Now)
}

func (r *Register) foundAuthority(ctx context.Context) error {
	_, err := r.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		if v.SigningAuthority() != nil {
			return nil
		}
		a, err := trust.NewAuthority(v.Cluster().ID, r.Now())
		if err != nil {
			return err
		}
		return put(ch, a, catalog.AuthoritySigning)
	})
	return err
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

// Signer gives the authority that signs at present.
func (r *Register) Signer() (*trust.Authority, error) {
	a := r.Catalog.View().SigningAuthority()
	if a == nil {
		return nil, errors.New("the cluster has no authority for certificates")
	}
	return trust.ParseAuthority(a.Secret)
}

// Roots gives the authorities that are trusted.
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

// Admit refuses a node that is not in the list: it was removed, or this node has not heard of it yet.
func (r *Register) Admit(p trust.Peer) error {
	if r.Catalog.View().Node(p.Node) == nil {
		return fmt.Errorf("node %d is not one of the cluster: it was removed, or joined a moment ago", p.Node)
	}
	return nil
}

// Contacts gives where nodes are reached.
func (r *Register) Contacts() []*pb.Contact {
	var out []*pb.Contact
	for n := range r.Catalog.View().Nodes() {
		if n.NodeAddr != "" {
			out = append(out, &pb.Contact{Node: n.ID, Addr: n.NodeAddr})
		}
	}
	return out
}

// Addr gives where a node is reached.
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
