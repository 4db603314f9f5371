package cluster

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/move"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// newMover creates the driver of the moves whose targets are led here.
func (h *Host) newMover() *move.Driver {
	return move.New(move.Config{
		Catalog: h.cfg.Catalog, Logger: h.cfg.Logger, Suffers: h.Suffers, At: h.cfg.AtMove,
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
			return h.ask(ctx, txn.FragmentID(f), func(l leader) error { return do(l.source()) })
		},
		Once: func(ctx context.Context, f uint32, do func(move.Source) error) error {
			l, err := h.leader(ctx, txn.FragmentID(f))
			if err != nil {
				return err
			}
			err = do(l.source())
			h.heed(txn.FragmentID(f), err)
			return err
		},
	})
}

// localSource is the source of a move that is led here.
type localSource struct{ *storage.Replica }

// MoveSize implements move.Source.
func (s localSource) MoveSize(_ context.Context, ranges []storage.BucketRange) (documents, bytes int64, err error) {
	documents, bytes = s.Replica.MoveSize(ranges)
	return documents, bytes, nil
}

// Gone implements move.Source: requests that wait are redirected first.
func (s localSource) Gone(ctx context.Context, move uint64, ranges []storage.BucketRange) (blocked time.Duration, err error) {
	for _, f := range s.Fenced() {
		if f.Move == move {
			blocked = time.Since(f.Since)
		}
	}
	return blocked, s.Replica.Gone(ctx, move, ranges)
}

var (
	_ move.Source = localSource{}
	_ move.Source = remote.Leader{}
)

func (l localLeader) source() move.Source { return localSource{l.r} }

func (l remoteLeader) source() move.Source { return l.Leader }
