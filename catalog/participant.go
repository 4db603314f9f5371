package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// The catalog as the coordinator of a transaction that changes definitions and writes to fragments:
//
//	Prepare   the change is in the log, valid, and nothing that collides with it comes into force any more
//	          (the fragments prepare, naming the catalog as the holder of the transaction record)
//	Decide    the change is applied: the commit point of the whole transaction
//	          (the fragments resolve it)
//	Forget    no participant will ask for the outcome any more
//
// A fragment that has prepared and knows no decision calls Outcome, which proposes abort. Outcome
// also returns aborted for a transaction that the catalog does not know. That is sound (K7): a
// fragment prepares only after the catalog's Prepare was acknowledged, so the record of an unknown
// transaction was removed, either by an abort or by Forget. Forget comes only after every writer
// has applied the commit, and after that no fragment asks. No transaction is decided by a timeout
// alone: an entry of the catalog's log ends each wait, and the first such entry counts.

// Outcome is the result of a transaction whose record the catalog keeps.
type Outcome byte

// Results of Decide.
const (
	Committed Outcome = 1
	Aborted   Outcome = 2
)

// Prepare logs a change, planned as for Apply, until its transaction is decided. writers are the
// fragments that the transaction writes to. Prepare returns the errors of Apply. After an error the
// transaction must still be aborted by Decide, because the entry may be in the log.
func (c *Catalog) Prepare(ctx context.Context, id TransactionID, ch *Change, writers []uint32) error {
	data, err := encodePrepare(&prepared{id: id, writers: writers, ops: ch.ops})
	if err != nil {
		return fmt.Errorf("catalog: encode change: %w", err)
	}
	c.setCoordinated(id, true)
	_, err = c.proposeWhenFree(ctx, data)
	return err
}

// Decide decides a prepared transaction and returns the decision that counts.
func (c *Catalog) Decide(ctx context.Context, id TransactionID, commitTS uint64, commit bool) (Outcome, error) {
	defer c.setCoordinated(id, false)
	return c.decide(ctx, decision{id: id, commitTS: commitTS, commit: commit})
}

// Outcome returns the outcome of a transaction to a writer that asks for it. If the transaction is
// not decided, Outcome aborts it.
func (c *Catalog) Outcome(ctx context.Context, id TransactionID) (Outcome, error) {
	return c.decide(ctx, decision{id: id})
}

func (c *Catalog) decide(ctx context.Context, d decision) (Outcome, error) {
	data, err := encodeDecision(d)
	if err != nil {
		return 0, fmt.Errorf("catalog: encode decision: %w", err)
	}
	a, err := c.propose(ctx, data)
	return a.outcome, err
}

// Forget deletes the record of a commit that all its writers have applied.
func (c *Catalog) Forget(ctx context.Context, id TransactionID) error {
	data, err := encodeForget(id)
	if err != nil {
		return fmt.Errorf("catalog: encode: %w", err)
	}
	_, err = c.propose(ctx, data)
	return err
}

// Unforgotten is a commit whose record still exists.
type Unforgotten struct {
	ID       TransactionID
	CommitTS uint64
	Writers  []uint32
}

// Unforgotten returns the commits whose writers may not all have applied them.
func (v *View) Unforgotten() []Unforgotten {
	var out []Unforgotten
	for _, d := range v.decided {
		out = append(out, Unforgotten{d.id, d.commitTS, slices.Clone(d.writers)})
	}
	return out
}

// setCoordinated sets whether this process is about to decide a prepared transaction.
func (c *Catalog) setCoordinated(id TransactionID, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if on {
		c.coordinated[id] = true
	} else {
		delete(c.coordinated, id)
	}
}

func (c *Catalog) isCoordinated(id TransactionID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.coordinated[id]
}

type answered struct{}

// Answered returns a context whose end does not interrupt a write in progress, so that the caller
// learns the outcome if the log has it. Writes that have not started are refused after its end.
func Answered(ctx context.Context) context.Context { return context.WithValue(ctx, answered{}, true) }

// writing returns the context for a write and for the wait for its result.
func writing(ctx context.Context) context.Context {
	if ctx.Value(answered{}) != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// proposeWhenFree proposes a change. If it collides with a prepared change, proposeWhenFree first
// waits for that one's decision.
func (c *Catalog) proposeWhenFree(ctx context.Context, data []byte) (applied, error) {
	for {
		if ctx.Err() != nil {
			return applied{}, pgerr.Cancelled(ctx)
		}
		a, err := c.propose(writing(ctx), data)
		var busy *busyError
		if !errors.As(err, &busy) {
			return a, err
		}
		if err := c.waitDecided(ctx, busy.id); err != nil {
			return applied{}, err
		}
	}
}

// waitDecided waits until a prepared transaction is decided. It aborts a transaction that no
// process coordinates any more.
func (c *Catalog) waitDecided(ctx context.Context, id TransactionID) error {
	for {
		v := c.View()
		if v.findPrepared(id) == nil {
			return nil
		}
		abandoned := c.abandoned(id)
		select {
		case <-v.Superseded():
		case <-abandoned:
			if _, err := c.Outcome(ctx, id); err != nil {
				return err
			}
		case <-ctx.Done():
			return pgerr.Cancelled(ctx)
		}
	}
}

// abandonAfter is how long a transaction that another process prepared is left alone, because that
// process may still be working on it.
const abandonAfter = 10 * time.Second

// abandoned returns a channel that delivers when a prepared transaction may be aborted: at once if
// this is the only process and it does not coordinate the transaction; never if this process
// coordinates it, or after PREPARE TRANSACTION.
func (c *Catalog) abandoned(id TransactionID) <-chan time.Time {
	switch p := c.View().findPrepared(id); {
	case p != nil && p.transaction != nil, c.isCoordinated(id):
		return nil
	case c.opts.Forward == nil:
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now
	}
	return time.After(abandonAfter)
}

// lead runs while this node leads the catalog. It aborts prepared changes that no process decides.
func (c *Catalog) lead(ctx context.Context) {
	seen := map[TransactionID]time.Time{}
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if !c.Leads() {
			clear(seen)
			continue
		}
		now := map[TransactionID]time.Time{}
		for _, p := range c.View().prepared {
			since, ok := seen[p.id]
			if !ok {
				since = time.Now()
			}
			now[p.id] = since
			if time.Since(since) > abandonAfter && p.transaction == nil && !c.isCoordinated(p.id) {
				if _, err := c.Outcome(ctx, p.id); err != nil && ctx.Err() == nil {
					c.opts.Logger.Warn("cannot abort a change of definitions that was left prepared", "error", err)
				}
			}
		}
		seen = now
	}
}

// abortLeft aborts the changes that were prepared by a process that has died.
func (c *Catalog) abortLeft(ctx context.Context) error {
	for _, p := range c.View().prepared {
		if p.transaction != nil || c.isCoordinated(p.id) {
			continue
		}
		if _, err := c.Outcome(ctx, p.id); err != nil {
			return fmt.Errorf("catalog: abort a change that was left prepared: %w", err)
		}
	}
	return nil
}
