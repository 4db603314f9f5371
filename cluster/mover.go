package cluster

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/move"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// newMover creates the driver of the moves whose targets are led here.
func (h *Host) newMover() *move.Driver {
	return move.New(move.Config{
		Catalog: h.cfg.Catalog, Logger: h.cfg.Logger, At: h.cfg.AtMove,
		Suffers: func() bool { return h.fragments.Suffers(maxDelay(h.cfg.Catalog.View())) },
		Empty: func(ctx context.Context, d *catalog.Database, fragment uint32) ([]shardmap.Range, error) {
			return h.balancer.Empty(ctx, h.cfg.Catalog.View(), d, fragment)
		},
		Leads: func(f uint32) *storage.Replica {
			if r := h.replica(txn.FragmentID(f)); r != nil && r.Term() != 0 {
				return r
			}
			return nil
		},
		Led: func() (out []*storage.Replica) {
			for _, r := range h.all() {
				if r.Term() != 0 {
					out = append(out, r)
				}
			}
			return out
		},
		Ask: func(ctx context.Context, f uint32, do func(move.Source) error) error {
			return h.Ask(ctx, txn.FragmentID(f), func(s kv.Sender) error { return do(move.Source{Sender: s, Fragment: f}) })
		},
		Once: func(ctx context.Context, f uint32, do func(move.Source) error) error {
			s, err := h.Find(ctx, txn.FragmentID(f))
			if err != nil {
				return err
			}
			err = do(move.Source{Sender: s, Fragment: f})
			h.UpdateHint(txn.FragmentID(f), err)
			return err
		},
	})
}
