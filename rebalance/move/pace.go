package move

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// pace limits the bytes per second that all moves of this node copy together to sherd.move_rate.
type pace struct {
	mu   sync.Mutex
	free time.Time // when the next bytes may go; guarded by mu
}

func newPace() *pace { return &pace{} }

const paceBurst = 100 * time.Millisecond // of unused rate that may be used later

// wait waits until n more bytes may go; rate 0 is no limit.
func (p *pace) wait(ctx context.Context, n int, rate int64) error {
	if rate <= 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	at := time.Now()
	if p.free.Before(at.Add(-paceBurst)) {
		p.free = at.Add(-paceBurst)
	}
	p.free = p.free.Add(time.Duration(float64(n) / float64(rate) * float64(time.Second)))
	until := p.free.Sub(at)
	p.mu.Unlock()
	if until <= 0 {
		return ctx.Err()
	}
	if !sleep(ctx, until) {
		return ctx.Err()
	}
	return nil
}

// The settings are those of the cluster (ALTER SYSTEM).
const (
	defaultRate       = 128 << 20
	defaultConcurrent = 4
)

func setting(view *catalog.View, name string, otherwise int64) int64 {
	if k := view.Cluster(); k != nil {
		if n, err := strconv.ParseInt(k.Settings[name], 10, 64); err == nil && n >= 0 {
			return n
		}
	}
	return otherwise
}

// moveRate returns sherd.move_rate in bytes per second; 0 is no limit. The setting is kept in
// kilobytes.
func moveRate(view *catalog.View) int64 {
	return setting(view, "sherd.move_rate", defaultRate>>10) << 10
}

func concurrentMoves(view *catalog.View) int {
	return int(max(setting(view, "sherd.concurrent_moves", defaultConcurrent), 1))
}

// sizeTries bounds how often the source is asked how large a part would be.
const sizeTries = 12

// part returns what the next step moves of a range: all of it, or as many buckets at an edge as
// make some MiB, at least one. It takes the edge that touches the buckets of the target, so that
// the target's ranges stay together.
func (d *Driver) part(
	ctx context.Context, db *catalog.Database, m catalog.RunningMove, r shardmap.Range,
) (shardmap.Interval, error) {
	fromTop := touchesAbove(db, r, m.Target) && !touchesBelow(db, r, m.Target)
	edge := func(n uint32) shardmap.Interval {
		if fromTop {
			return shardmap.Interval{Lo: r.Hi - n, Hi: r.Hi}
		}
		return shardmap.Interval{Lo: r.Lo, Hi: r.Lo + n}
	}
	size := func(n uint32) (bytes int64, err error) {
		err = d.cfg.Ask(ctx, r.Fragment, func(src Source) (err error) {
			bytes, err = src.size(ctx, []shardmap.Interval{edge(n)})
			return err
		})
		return bytes, err
	}
	// fits buckets are not too many, tooMany are
	fits, tooMany, n := uint32(1), uint32(r.Len())+1, uint32(r.Len())
	for range sizeTries {
		bytes, err := size(n)
		if err != nil {
			return shardmap.Interval{}, err
		}
		guess := uint64(fits+tooMany) / 2
		if bytes <= stepBytes {
			fits = n
		} else {
			tooMany = n
			guess = uint64(n) * stepBytes / uint64(bytes)
		}
		if bytes > stepBytes/2 && bytes <= stepBytes || tooMany-fits <= 1 {
			break
		}
		if guess <= uint64(fits) || guess >= uint64(tooMany) {
			guess = uint64(fits+tooMany) / 2
		}
		n = uint32(guess)
	}
	return edge(fits), nil
}
