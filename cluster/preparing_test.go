package cluster

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/txn"
)

// preparing prepares a transaction in one fragment after the other, at one C, as a coordinator does: what a fragment has promised meanwhile, and be it to its own
// upkeep, is stepped over in all of them.
type preparing struct {
	txn.PrepareRequest
	clock *txn.Clock
	in    []preparer
}

type preparer interface {
	Prepare(context.Context, txn.PrepareRequest) error
}

// prepare prepares in more fragments.
func (p *preparing) prepare(ctx context.Context, in ...preparer) error {
	if p.in = append(p.in, in...); p.C == 0 {
		p.C, p.Attempt = p.clock.Now()+1, 1
	}
	for {
		err := p.each(ctx, in)
		var low *txn.LowError
		if !errors.As(err, &low) {
			return err
		}
		p.C, p.Attempt, in = max(low.LowWater, p.clock.Now())+1, p.Attempt+1, p.in
	}
}

func (p *preparing) each(ctx context.Context, in []preparer) error {
	for _, x := range in {
		if err := x.Prepare(ctx, p.PrepareRequest); err != nil {
			return err
		}
	}
	return nil
}
