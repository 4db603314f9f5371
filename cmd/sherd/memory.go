package main

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The Go heap may grow to twice what lives in it before it is collected, and a load of a few hundred MiB of garbage a second uses all of that.
// So while there are large transactions, and until it is known whether there are, there is a limit beyond which the runtime collects earlier:
// they take no more than that of the node's memory. Where more than that lives, many sessions' rows perhaps, the limit follows, since a runtime
// that collects without end serves nobody. Small transactions alone have none: collecting at the limit took a tenth of their processor time.
const (
	heapLimit    = 160 << 20
	heapMost     = 224 << 20 // of the 256 MiB that a node may take beside a large transaction
	heapHeadroom = 4         // a quarter of what lives is left for garbage up to heapMost
	heapTight    = 8         // and an eighth beyond: most of what lives there are buffers without a pointer, which cost a collection nothing
	heapWatch    = 100 * time.Millisecond
)

// A node of which little lives would be collected after each few MiB of garbage, several times a second under load, and that took a third of the processor time
// of an insert. So without large transactions it is collected when its heap has grown to heapFloor at least; heapSparse bounds that where next to nothing lives.
const (
	heapFloor  = 112 << 20
	heapSparse = 1000 // percent of what lives
)

// percentOf gives how much garbage may come before the next collection where so many bytes live, in percent of these.
func percentOf(live int64) int {
	return int(min(max((heapFloor-live)*100/max(live, 1), 100), heapSparse))
}

// limitOf gives the limit beside a large transaction where so many bytes live.
func limitOf(live int64) int64 {
	return max(heapLimit, min(live+live/heapHeadroom, heapMost), live+live/heapTight)
}

// What a large transaction has taken is given back to the system once nothing much has been allocated for a while: the runtime alone would keep
// the garbage for minutes.
const (
	heapQuiet  = 3 * time.Second
	heapLittle = 1 << 20   // bytes between two looks
	heapWorth  = 256 << 20 // bytes allocated since memory was given back last
)

// limitMemory holds the heap small while large says that there are large transactions, and leaves garbage its room else, until ctx ends, unless the environment says
// otherwise (GOMEMLIMIT, GOGC).
func limitMemory(ctx context.Context, large func() bool) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(heapLimit)
	go func() {
		t := time.NewTicker(heapWatch)
		defer t.Stop()
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
		limit, percent := int64(heapLimit), 100
		fixed := os.Getenv("GOGC") != ""
		var rest rest
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			metrics.Read(sample)
			live := int64(sample[0].Value.Uint64())
			next, p := int64(math.MaxInt64), percentOf(live)
			if large() {
				next, p = limitOf(live), 100
			}
			if next-next/32 > limit || next < limit-limit/8 { // setting it stops the world
				limit = next
				debug.SetMemoryLimit(limit)
			}
			if !fixed && (p-p/8 > percent || p+p/8 < percent) { // so does this
				percent = p
				debug.SetGCPercent(percent)
			}
			if rest.due(time.Now(), sample[1].Value.Uint64()) {
				debug.FreeOSMemory()
			}
		}
	}()
}

// rest finds the moments at which memory is to be given back.
type rest struct {
	busy  time.Time // much was allocated last
	seen  uint64    // allocated then
	freed uint64    // allocated when memory was given back
}

func (r *rest) due(now time.Time, allocated uint64) bool {
	if allocated-r.seen > heapLittle {
		r.busy = now
	}
	r.seen = allocated
	if now.Sub(r.busy) < heapQuiet || allocated-r.freed < heapWorth {
		return false
	}
	r.freed = allocated
	return true
}
