package member

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/join"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/trust"
)

// keepTokens is for how long an expired token is remembered, so that its holder learns that it has
// expired.
const keepTokens = 7 * 24 * time.Hour

// NewToken makes a join token that is valid for life: for a new node if node is 0, or for a node of
// the cluster that has lost its certificate.
func (r *Register) NewToken(ctx context.Context, life time.Duration, node uint32) (trust.Token, error) {
	signer, err := r.Signer()
	if err != nil {
		return trust.Token{}, err
	}
	token, err := trust.NewToken(signer.ClusterID, signer.Fingerprint())
	if err != nil {
		return trust.Token{}, err
	}
	now := r.Now()
	_, err = r.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		if node != 0 && v.Node(node) == nil {
			return fmt.Errorf("node %d is not one of the cluster", node)
		}
		for t := range v.JoinTokens() {
			if t.ExpiresMicros < now.Add(-keepTokens).UnixMicro() {
				ch.DropJoinToken(t.Hash)
			}
		}
		return ch.PutJoinToken(&catalog.JoinToken{
			Hash: trust.HashSecret(token.Secret()), Authority: number(token.Authority()),
			CreatedMicros: now.UnixMicro(),
			ExpiresMicros: now.Add(life).UnixMicro(), Node: node,
		})
	})
	return token, err
}

// Redeem takes a token (I1) and returns the number and name of the node that its holder is from now
// on.
func (r *Register) Redeem(
	ctx context.Context, secret, keyHash []byte, info *pb.NodeInfo,
) (node uint32, name string, err error) {
	hash := trust.HashSecret(secret)
	fresh := uint32(0) // a number taken for a new node, whatever becomes of it
	view, err := r.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		t := v.JoinToken(hash)
		if t == nil {
			return trust.UnknownToken()
		}
		grant := trust.Grant{Hash: t.Hash, Expires: time.UnixMicro(t.ExpiresMicros), Node: t.Node, UsedBy: t.UsedBy}
		if err := grant.Redeem(secret, keyHash, r.Now()); err != nil {
			return err
		}
		if lost := v.LostNode(t.Node); lost != nil {
			return deny("%s", LostError(lost.Name, lost.ID))
		}
		if bytes.Equal(t.UsedBy, keyHash) {
			node = t.Node
			return nil
		}
		if err := sameNode(v, t.Node, info.GetNode()); err != nil {
			return err
		}
		if node = t.Node; node == 0 {
			if fresh == 0 {
				var err error
				if fresh, err = r.Catalog.NewNodeID(ctx); err != nil {
					return err
				}
			}
			node = fresh
		}
		t = t.Clone()
		t.Node, t.UsedBy = node, keyHash
		n, err := describe(v, node, info)
		if err == nil {
			err = ch.PutNode(n)
		}
		if err == nil && v.Node(node) == nil {
			err = ch.NoteNode(n, fmt.Sprintf("joined as node %d, at %s", node, n.NodeAddr),
				catalog.Author{Who: "sherd", Why: "it had a join token", Micros: r.Now().UnixMicro()})
		}
		if err == nil {
			err = ch.PutJoinToken(t)
		}
		return err
	})
	if err != nil {
		return 0, "", err
	}
	n := view.Node(node)
	if n == nil {
		return 0, "", deny("node %d was removed from the cluster; the token cannot let it in again", node)
	}
	return node, n.Name, nil
}

// sameNode refuses a token that was made for another node. A node whose data is lost is another
// node than before, because the others count on what the old one has acknowledged.
func sameNode(v *catalog.View, wanted, is uint32) error {
	switch {
	case wanted == is:
		return nil
	case wanted == 0:
		return deny("this join token lets in a new node, and the data directory is that of node %d: "+
			"make one for it with "+
			"\"sherd node token --for\" and its name", is)
	case is == 0:
		return deny("this join token is for node %s with its data, and the data directory is empty: "+
			"if the data is lost, join as a new node, with "+
			"a token made by \"sherd node token\", and remove the old one then: \"sherd node remove %s\"",
			nameOf(v, wanted), nameOf(v, wanted))
	}
	return deny("this join token is for node %s, and the data directory is that of node %s",
		nameOf(v, wanted), nameOf(v, is))
}

func deny(format string, args ...any) error { return &join.Denied{Text: fmt.Sprintf(format, args...)} }

func nameOf(v *catalog.View, node uint32) string {
	if n := v.Node(node); n != nil {
		return n.Name
	}
	return fmt.Sprint(node)
}

// describe returns what the catalog records about a node.
func describe(v *catalog.View, id uint32, info *pb.NodeInfo) (*catalog.Node, error) {
	n := &catalog.Node{ID: id, Name: info.GetName(), Block: freeBlock(v)}
	if n.Name == "" {
		n.Name = fmt.Sprintf("n%d", id)
	}
	if old := v.Node(id); old != nil {
		n = old.Clone()
	} else if other := v.NodeByName(n.Name); other != nil {
		return nil, deny("there is a node named %q already: give another --node-name", n.Name)
	}
	Describe(n, info)
	return n, nil
}

// Describe updates n with a node's description of itself, and reports whether anything changed.
func Describe(n *catalog.Node, info *pb.NodeInfo) (changed bool) {
	before := *n
	n.NodeAddr, n.SQLAddr, n.HTTPAddr, n.Labels =
		info.GetNodeAddr(), info.GetSqlAddr(), info.GetHttpAddr(), info.GetLabels()
	n.Gateway, n.Release, n.Speaks = info.GetGateway(), info.GetRelease(), info.GetSpeaks()
	return n.NodeAddr != before.NodeAddr || n.SQLAddr != before.SQLAddr ||
		n.HTTPAddr != before.HTTPAddr || n.Gateway != before.Gateway ||
		n.Release != before.Release || n.Speaks != before.Speaks || !maps.Equal(n.Labels, before.Labels)
}

// Announce records a node's description of itself in the catalog.
func (r *Register) Announce(ctx context.Context, node uint32, info *pb.NodeInfo) error {
	if old := r.Catalog.View().Node(node); old != nil && !Describe(old.Clone(), info) {
		return nil
	}
	_, err := r.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		if gone := v.RemovedNode(node); gone != nil {
			return fmt.Errorf("node %s was removed from the cluster", gone.Name)
		}
		if lost := v.LostNode(node); lost != nil {
			return LostError(lost.Name, node)
		}
		n := v.Node(node)
		if n == nil {
			return fmt.Errorf("node %d is not one of the cluster", node)
		}
		n = n.Clone()
		if !Describe(n, info) {
			return nil
		}
		return ch.PutNode(n)
	})
	return err
}

// freeBlock returns the first of A … Z, AA … that no node has. Ids of documents end in it.
func freeBlock(v *catalog.View) string {
	taken := map[string]bool{}
	for n := range v.Nodes() {
		taken[n.Block] = true
	}
	for i := 0; ; i++ {
		if b := block(i); !taken[b] {
			return b
		}
	}
}

// block returns the letters of number i, like the columns of a spreadsheet.
func block(i int) string {
	s := ""
	for i++; i > 0; i = (i - 1) / 26 {
		s = string(rune('A'+(i-1)%26)) + s
	}
	return s
}
