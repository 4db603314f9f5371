package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The Go heap may grow to twice what lives in it before it is collected, and a load of a few hundred MiB of garbage a second uses all of that.
// So there is a limit beyond which the runtime collects earlier: a large transaction takes no more than that of the node's memory. Where
// more than that lives, many sessions' rows perhaps, the limit follows, since a runtime that collects without end serves nobody.
const (
	heapLimit    = 160 << 20
	heapHeadroom = 4 // a quarter of what lives, at least, is left for garbage
	heapWatch    = 100 * time.Millisecond
)

// limitMemory holds the heap small until ctx ends, unless the environment says otherwise (GOMEMLIMIT).
func limitMemory(ctx context.Context) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(heapLimit)
	go func() {
		t := time.NewTicker(heapWatch)
		defer t.Stop()
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		limit := int64(heapLimit)
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			metrics.Read(sample)
			live := int64(sample[0].Value.Uint64())
			next := max(heapLimit, live+live/heapHeadroom)
			if next > limit+limit/8 || next < limit-limit/8 { // setting it stops the world
				limit = next
				debug.SetMemoryLimit(limit)
			}
		}
	}()
}
