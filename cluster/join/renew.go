package join

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/trust"
	"google.golang.org/grpc"
)

// Renew makes a new key, has the node behind a connection certify it, and takes over the roots that
// this node trusts.
func Renew(ctx context.Context, k *trust.Keeper, cc grpc.ClientConnInterface) error {
	key, err := trust.NewKey()
	if err != nil {
		return err
	}
	request, err := key.Request()
	if err != nil {
		return err
	}
	a, err := pb.NewMembershipClient(cc).Renew(ctx, &pb.RenewRequest{CertificateRequest: request})
	if err != nil {
		return fmt.Errorf("renewal of this node's certificate: %w", err)
	}
	roots, err := trust.NewRoots(k.Self().ClusterID, a.Roots)
	if err == nil {
		err = k.Renew(key, a.Chain)
	}
	if err != nil {
		return err
	}
	return k.SetRoots(roots)
}

// KeepRenewed renews a certificate when it is due: by its time, or because replaced reports that
// another authority signs now. It checks at each tick, because clocks may jump. A failed renewal is
// tried again at the next tick; months are left for it. It returns when ctx ends.
func KeepRenewed(
	ctx context.Context, k *trust.Keeper, tick <-chan time.Time,
	replaced func() bool, renew func(context.Context) error, log *slog.Logger,
) {
	for {
		select {
		case <-tick:
		case <-ctx.Done():
			return
		}
		if k.Now().Before(k.RenewAt()) && !replaced() {
			continue
		}
		if err := renew(ctx); err != nil {
			if ctx.Err() == nil {
				log.Warn("this node's certificate was not renewed", "expires", k.Self().Expires, "error", err)
			}
			continue
		}
		log.Info("this node's certificate was renewed", "expires", k.Self().Expires)
	}
}
