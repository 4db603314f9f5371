package rebalance

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/rebalance/move"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// newMover creates the driver of the moves whose targets are led here.
func (r *Rebalancer) newMover() *move.Driver {
	return move.New(move.Config{
		Catalog: r.cfg.Catalog, Logger: r.cfg.Logger, Schema: r.cfg.Schema, At: r.cfg.At,
		Suffers: func() bool { return r.cfg.Fragments.Suffers(maxDelay(r.cfg.Catalog.View())) },
		Empty: func(ctx context.Context, d *catalog.Database, fragment uint32) ([]shardmap.Range, error) {
			return r.balancer.Empty(ctx, r.cfg.Catalog.View(), d, fragment)
		},
		Leads: func(f uint32) *storage.Replica { return r.cfg.Fragments.Replicas().Led(f) },
		Led: func() (out []*storage.Replica) {
			for _, x := range r.cfg.Fragments.Replicas().All() {
				if x.Group.Term() != 0 {
					out = append(out, x)
				}
			}
			return out
		},
		Ask: func(ctx context.Context, f uint32, do func(move.Source) error) error {
			return r.cfg.Client.Ask(ctx, txn.FragmentID(f), func(s kv.Sender) error {
				return do(move.Source{Sender: s, Fragment: f})
			})
		},
		Once: func(ctx context.Context, f uint32, do func(move.Source) error) error {
			s, err := r.cfg.Client.Find(ctx, txn.FragmentID(f))
			if err != nil {
				return err
			}
			err = do(move.Source{Sender: s, Fragment: f})
			r.cfg.Client.UpdateHint(txn.FragmentID(f), err)
			return err
		},
	})
}
