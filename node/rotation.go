package node

import (
	"context"
	"encoding/pem"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/join"
	"github.com/sherddb/sherd/cluster/member"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/cluster/trust"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/sysview"
)

const (
	certificateLook    = time.Minute     // how often certificates are looked at
	certificateTimeout = 3 * time.Second // for a node's report of its certificates
	rotationLook       = time.Second     // how often, while nodes follow a step of a replacement …
	rotationTimeout    = time.Minute     // how long a step may take before a missing node is logged
)

// report returns the authorities that this node trusts, and the issuer of its certificate.
func (n *Node) report() trust.Report {
	return trust.Report{Trusts: n.keeper.Roots().Fingerprints(), Issuer: n.keeper.Self().Issuer}
}

// keepRenewed renews this node's certificate when it is due. It ends with ctx.
func (n *Node) keepRenewed(ctx context.Context) {
	tick := make(chan time.Time)
	n.background.Go(func() {
		n.eachLook(ctx, func() {
			select {
			case tick <- time.Now():
			case <-ctx.Done():
			}
		})
	})
	replaced := func() bool { return n.register.Outdated(n.keeper) }
	join.KeepRenewed(ctx, n.keeper, tick, replaced,
		func(context.Context) error { return n.register.Renew(n.keeper) }, n.cfg.Logger)
}

// eachLook calls f whenever certificates have to be checked: at intervals, and after a change of
// the cluster's authorities. It ends with ctx.
func (n *Node) eachLook(ctx context.Context, f func()) {
	t := time.NewTicker(n.cfg.Knobs.CertificateLook)
	defer t.Stop()
	phases := n.phases()
	for {
		select {
		case <-t.C:
			f()
		case <-n.catalog.View().Superseded():
			if now := n.phases(); !maps.Equal(now, phases) {
				phases = now
				f()
			}
		case <-ctx.Done():
			return
		}
	}
}

// phases returns the phase of each authority.
func (n *Node) phases() map[uint64]catalog.AuthorityPhase {
	out := map[uint64]catalog.AuthorityPhase{}
	for a := range n.catalog.View().Authorities() {
		out[a.ID] = a.Phase
	}
	return out
}

// keepRotated replaces the cluster's authority when that is due, and completes a replacement, while
// this node leads the catalog. It ends with ctx.
func (n *Node) keepRotated(ctx context.Context) {
	n.eachLook(ctx, func() {
		if !n.catalog.Leads() {
			return
		}
		if !n.register.Replacing() && n.register.Due() {
			if err := n.register.ReplaceAuthority(ctx); err != nil {
				n.cfg.Logger.Warn("the cluster's authority is due to be replaced, and was not", "error", err)
				return
			}
		}
		n.rotate(ctx)
	})
}

// rotate takes the steps of a replacement until it is complete, or until it has waited for a node
// for long; then the next check continues.
func (n *Node) rotate(ctx context.Context) {
	for since := time.Now(); n.catalog.Leads() && n.register.Replacing(); {
		step, err := n.register.Advance(ctx, n.certificates(ctx))
		switch {
		case err != nil:
			n.cfg.Logger.Warn("the replacement of the cluster's authority does not go on", "error", err)
			return
		case step.Kind == trust.Promote:
			n.cfg.Logger.Info("another authority signs the nodes' certificates now", "authority", step.Authority)
			since = time.Now()
		case step.Kind == trust.Drop:
			n.cfg.Logger.Info("the cluster's former authority is trusted no more", "authority", step.Authority)
		case !step.Until.IsZero():
			return // join tokens name it
		case time.Since(since) > rotationTimeout:
			n.cfg.Logger.Warn("the replacement of the cluster's authority waits for nodes",
				"nodes", strings.Join(n.namesOf(step.Nodes), ", "))
			return
		}
		select {
		case <-time.After(rotationLook):
		case <-ctx.Done():
			return
		}
	}
}

// certificates has all nodes that answer report.
func (n *Node) certificates(ctx context.Context) map[uint32]trust.Report {
	ctx, cancel := context.WithTimeout(ctx, certificateTimeout)
	defer cancel()
	out := map[uint32]trust.Report{n.dir.NodeID: n.report()}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, other := range n.others() {
		asking.Go(func() {
			link, err := n.port.transport.Link(other, transport.TaskLink)
			if err != nil {
				return
			}
			if r, err := join.Certificates(ctx, link, grpc.WaitForReady(true)); err == nil {
				mu.Lock()
				out[other] = r
				mu.Unlock()
			}
		})
	}
	asking.Wait()
	return out
}

// rotateAuthority starts a replacement: sherd.rotate_authority().
func (n *Node) rotateAuthority(ctx context.Context) error {
	err := n.register.ReplaceAuthority(ctx)
	if errors.Is(err, member.ErrReplacing) {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s", err).
			WithHint("sherd.authorities shows how far it has come, and which nodes it waits for.")
	}
	return err
}

// authorities is sherd.authorities.
func (n *Node) authorities(ctx context.Context) ([]sysview.Authority, error) {
	standing, err := n.register.Standing()
	if err != nil {
		return nil, err
	}
	var reports map[uint32]trust.Report
	if len(standing) > 1 {
		reports = n.certificates(ctx)
	}
	waiting, err := n.register.Waiting(reports)
	if err != nil {
		return nil, err
	}
	var out []sysview.Authority
	for _, s := range standing {
		a := sysview.Authority{Name: s.Fingerprint().String(),
			Phase: s.Phase, Since: s.Cert.NotBefore, Expires: s.Cert.NotAfter,
			Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Cert.Raw}))}
		if waiting.Authority == s.Fingerprint() && waiting.Kind == trust.Wait {
			a.WaitsFor, a.WaitsUntil = n.namesOf(waiting.Nodes), waiting.Until
		}
		out = append(out, a)
	}
	return out, nil
}

func (n *Node) namesOf(nodes []uint32) []string {
	out := make([]string, len(nodes))
	for i, x := range nodes {
		out[i] = n.nameOf(x)
	}
	slices.Sort(out)
	return out
}
