package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/join"
	"github.com/sherddb/sherd/cluster/member"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/trust"
)

const needsToken = "a join token is needed: \"sherd node token\" on a node of the cluster makes one"

// identify opens the data directory and the node's certificate. In an empty directory it creates
// the first node of a new cluster, or, with Join, joins a cluster. After a crash at any step, a
// start with the same arguments continues.
func (n *Node) identify(ctx context.Context) (err error) {
	begin := func(certs string) (catalog.Identity, error) { return n.begin(ctx, certs) }
	n.dir, err = catalog.OpenDataDir(n.cfg.Data, n.cfg.Knobs.Version.Release, begin)
	if err != nil {
		return err
	}
	declared, err := n.dir.LostNodes()
	if err != nil {
		return err
	}
	n.lost.add(declared)
	if n.keeper == nil {
		if err := n.checkToken(); err != nil {
			return err
		}
		if err := n.resume(ctx); err != nil {
			return err
		}
	}
	if self := n.keeper.Self(); self.ClusterID != n.dir.ClusterID || self.Node != n.dir.NodeID {
		return fmt.Errorf("the certificate in %s is that of %s, and the data directory is that of node %d of "+
			"cluster %s: restore both from one backup",
			n.keeper.Dir(), self, n.dir.NodeID, n.dir.ClusterID)
	}
	if n.contacts == nil {
		if n.contacts, err = member.OpenContacts(n.dir.Certs()); err != nil {
			return err
		}
	}
	last, _ := n.contacts.Addr(n.dir.NodeID) // a node that has just joined has no earlier address
	return n.refuseDuplicate(ctx, last)
}

// checkToken refuses a token of another cluster if the directory has data: the user wants to join
// that cluster, and would start a node of this one. A token of the node's own cluster usually stays
// on the command line and has no effect.
func (n *Node) checkToken() error {
	if n.cfg.Token == "" {
		return nil
	}
	token, err := trust.ParseToken(n.cfg.Token)
	if err != nil {
		n.cfg.Logger.Warn("--token does nothing: the data directory is that of a node that was let in already",
			"token", err)
		return nil
	}
	if token.ClusterID() != n.dir.ClusterID {
		return fmt.Errorf("--token is for cluster %s, and the data directory %s is that of node %d of cluster %s: "+
			"to join the other cluster, start with an empty directory; "+
			"to go on in this one, leave the token out", token.ClusterID(), n.dir.Path, n.dir.NodeID, n.dir.ClusterID)
	}
	return nil
}

// begin creates the identity for an empty directory.
func (n *Node) begin(ctx context.Context, certs string) (catalog.Identity, error) {
	id := catalog.NewCluster()
	keeper, err := trust.OpenKeeper(certs, n.cfg.Knobs.Now)
	switch {
	case err == nil: // an earlier start came this far
		n.keeper = keeper
		self := keeper.Self()
		return catalog.Identity{ClusterID: self.ClusterID, NodeID: self.Node}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return id, err
	// A user with a token wants to join, not to create a cluster.
	case len(n.cfg.Join) > 0, n.cfg.Token != "":
		return n.join(ctx, certs, 0)
	}
	if err := n.checkNewAccess(); err != nil {
		return id, err
	}
	n.keeper, err = member.Found(certs, id.ClusterID, id.NodeID, n.cfg.Knobs.Now)
	return id, err
}

// resume opens the certificate of a node with data. If it is lost or has expired, a token made for
// the node replaces it.
func (n *Node) resume(ctx context.Context) error {
	keeper, err := trust.OpenKeeper(n.dir.Certs(), n.cfg.Knobs.Now)
	switch {
	case errors.Is(err, fs.ErrNotExist) && n.cfg.Token != "",
		err == nil && n.cfg.Token != "" && n.cfg.Knobs.Now().After(keeper.Self().Expires):
		id, err := n.join(ctx, n.dir.Certs(), n.dir.NodeID)
		if err == nil && id != n.dir.Identity {
			err = fmt.Errorf("the join token is for node %d of cluster %s, "+
				"and the data directory is that of node %d of cluster %s",
				id.NodeID, id.ClusterID, n.dir.NodeID, n.dir.ClusterID)
		}
		return err
	case errors.Is(err, fs.ErrNotExist) && n.dir.NodeID == 1:
		// The data is older than certificates, in a cluster of one node, or the certificates of
		// such a node are lost (Establish).
		n.keeper, err = member.Found(n.dir.Certs(), n.dir.ClusterID, n.dir.NodeID, n.cfg.Knobs.Now)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the node's certificate is missing in %s; %s", n.dir.Certs(), needsToken)
	default:
		n.keeper = keeper
	}
	return err
}

// join joins the cluster, as a new node or as the node that the data directory belongs to.
func (n *Node) join(ctx context.Context, certs string, as uint32) (id catalog.Identity, err error) {
	if n.cfg.Token == "" {
		return id, errors.New(needsToken)
	}
	if len(n.cfg.Join) == 0 {
		return id, errors.New("the address of a node of the cluster is needed to join it: --join HOST:PORT")
	}
	token, err := trust.ParseToken(n.cfg.Token)
	if err != nil {
		return id, err
	}
	info, err := n.info()
	if err != nil {
		return id, err
	}
	info.Name, info.Node = n.cfg.Name, as
	var addrs []string
	for _, a := range n.cfg.Join {
		if !n.isSelf(ctx, a) {
			addrs = append(addrs, a)
		}
	}
	if len(addrs) == 0 {
		return id, fmt.Errorf("--join %s is this node itself: name another node of the cluster; "+
			"the first node of a cluster is started without --join", strings.Join(n.cfg.Join, ","))
	}
	joined, err := join.Join(ctx, join.Request{
		Failed: func(err error) {
			n.cfg.Logger.Warn("a node of --join was not reached; the next is asked", "why", err)
		},
		Addrs: addrs, Token: token, Dir: certs, Version: n.cfg.Knobs.Version,
		Info: info, Now: n.cfg.Knobs.Now, Dial: n.cfg.Knobs.Dial,
	})
	if err != nil {
		return id, err
	}
	n.keeper = joined.Keeper
	if n.contacts, err = member.OpenContacts(certs); err != nil {
		return id, err
	}
	n.cfg.Logger.Info("the cluster has let this node in",
		"node", joined.Node, "name", joined.Name, "cluster", token.ClusterID())
	return catalog.Identity{ClusterID: token.ClusterID(), NodeID: joined.Node}, n.contacts.Take(joined.Contacts)
}

// info returns the node's entry for the list of nodes.
func (n *Node) info() (*pb.NodeInfo, error) {
	sqlAddr, err := advertised(n.cfg.SQLAdvertiseAddr, n.listener)
	if err != nil {
		return nil, fmt.Errorf("--sql-advertise-addr %w", err)
	}
	return &pb.NodeInfo{
		NodeAddr: n.self, SqlAddr: sqlAddr, HttpAddr: n.http.addr(), Labels: n.cfg.Labels, Gateway: n.cfg.Gateway,
		Release: n.cfg.Knobs.Version.Release, Speaks: n.cfg.Knobs.Version.To,
	}, nil
}
