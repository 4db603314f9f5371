package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// The catalog as the anchor of a transaction that changes definitions and writes to fragments:
//
//	Prepare   the change is in the log, valid, and nothing that collides with it comes into force any more
//	          (the fragments prepare, naming the catalog as their anchor)
//	Decide    the change applies: the commit point of the whole transaction
//	          (the fragments apply their resolution)
//	Forget    nobody will ask any more
//
// A fragment that finds itself prepared and undecided asks Outcome, which proposes abort. It answers aborted also for a transaction that the
// catalog does not know, and that is sound (K7): a fragment prepares only after the catalog's Prepare was acknowledged, so an unknown
// transaction had its record removed, by an abort, or by Forget, which comes only after every writer has applied the commit; then nobody has a
// reason to ask. Nobody decides by time-out alone: what ends a wait is an entry of the catalog's log, and the first one counts.

// Outcome is what became of a transaction whose anchor is the catalog.
type Outcome byte

// What Decide gives.
const (
	Committed Outcome = 1
	Aborted   Outcome = 2
)

// Prepare holds a change, planned as for Apply, until its transaction is decided. writers are the fragments that the transaction writes to.
// Errors are those of Apply; the transaction must then be aborted by Decide, for the entry may still be in the log.
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

// Outcome answers a writer that asks what became of a transaction: it aborts one that is not decided.
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

// Forget ends the record of a commit that all its writers have applied.
func (c *Catalog) Forget(ctx context.Context, id TransactionID) error {
	data, err := encodeForget(id)
	if err != nil {
		return fmt.Errorf("catalog: encode: %w", err)
	}
	_, err = c.propose(ctx, data)
	return err
}

// Unforgotten is a commit whose record is kept.
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

// setCoordinated notes which prepared transactions somebody in this process is about to decide.
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

// Answered returns a context whose end does not cut off anything that is being written: the caller
// learns the outcome, if the log has it. What has not been written yet ends with it.
func Answered(ctx context.Context) context.Context { return context.WithValue(ctx, answered{}, true) }

// writing returns the context with which something is written, and waited for.
func writing(ctx context.Context) context.Context {
	if ctx.Value(answered{}) != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// proposeWhenFree proposes a change; where it collides with a prepared one it waits for that one's decision first.
func (c *Catalog) proposeWhenFree(ctx context.Context, data []byte) (applied, error) {
	for {
		if ctx.Err() != nil {
			return applied{}, cancelledWait(ctx)
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

// waitDecided waits until a prepared transaction is decided; a transaction that no process
// coordinates any more is aborted.
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
			return cancelledWait(ctx)
		}
	}
}

// abandonAfter is how long a transaction that another process prepared is left alone: that one may be at work on it.
const abandonAfter = 10 * time.Second

// abandoned tells when a prepared transaction may be aborted: at once where this process is the only one and not at work on it, never while it is, nor
// while it is held.
func (c *Catalog) abandoned(id TransactionID) <-chan time.Time {
	switch p := c.View().findPrepared(id); {
	case p != nil && p.held != nil, c.isCoordinated(id):
		return nil
	case c.opts.Forward == nil:
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now
	}
	return time.After(abandonAfter)
}

// lead does, while this node leads, what the catalog needs somebody for: it aborts changes that were prepared and left.
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
			if time.Since(since) > abandonAfter && p.held == nil && !c.isCoordinated(p.id) {
				if _, err := c.Outcome(ctx, p.id); err != nil && ctx.Err() == nil {
					c.opts.Logger.Warn("cannot abort a change of definitions that was left prepared", "error", err)
				}
			}
		}
		seen = now
	}
}

func cancelledWait(ctx context.Context) error {
	if e := pgerr.From(context.Cause(ctx)); e != nil && e.Code != pgerr.InternalError {
		return e
	}
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}

// abortLeft aborts the changes that a process which is gone has prepared. The process that would
// have decided them is dead.
func (c *Catalog) abortLeft(ctx context.Context) error {
	for _, p := range c.View().prepared {
		if p.held != nil || c.isCoordinated(p.id) {
			continue
		}
		if _, err := c.Outcome(ctx, p.id); err != nil {
			return fmt.Errorf("catalog: abort a change that was left prepared: %w", err)
		}
	}
	return nil
}
