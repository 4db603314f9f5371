package teststore

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/txn"
)

// Preparing prepares a transaction in one fragment after the other, at one C, as a coordinator does.
// C passes the low-water timestamps of all of them.
type Preparing struct {
	txn.PrepareRequest
	Clock *txn.Clock
	in    []preparer
}

type preparer interface {
	Prepare(context.Context, txn.PrepareRequest) error
}

// Prepare prepares in more fragments.
func (p *Preparing) Prepare(ctx context.Context, in ...preparer) error {
	if p.in = append(p.in, in...); p.C == 0 {
		p.C, p.Attempt = p.Clock.Now()+1, 1
	}
	for {
		err := p.each(ctx, in)
		var low *txn.LowError
		if !errors.As(err, &low) {
			return err
		}
		p.C, p.Attempt, in = max(low.LowWater, p.Clock.Now())+1, p.Attempt+1, p.in
	}
}

func (p *Preparing) each(ctx context.Context, in []preparer) error {
	for _, x := range in {
		if err := x.Prepare(ctx, p.PrepareRequest); err != nil {
			return err
		}
	}
	return nil
}
