package main

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// memoryFlag is the memory limit for the Go heap: a percentage of the machine's memory, or a size.
type memoryFlag struct {
	percent float64 // 0: bytes is set
	bytes   int64
}

const (
	defaultMemoryPercent = 50
	leastMemory          = 64 << 20 // below this the collector would run without pause
)

func defaultMemory() memoryFlag { return memoryFlag{percent: defaultMemoryPercent} }

// memoryUnits are PostgreSQL's: powers of 1024. The first matching suffix counts.
var memoryUnits = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1 << 10}, {"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40}, {"B", 1},
}

// String implements pflag.Value.
func (m *memoryFlag) String() string {
	switch {
	case m.percent > 0:
		return strconv.FormatFloat(m.percent, 'f', -1, 64) + "%"
	case m.bytes%(1<<20) == 0:
		return strconv.FormatInt(m.bytes>>20, 10) + "MB"
	}
	return strconv.FormatInt(m.bytes, 10) + "B"
}

// Type implements pflag.Value.
func (*memoryFlag) Type() string { return "memory" }

// Set implements pflag.Value.
func (m *memoryFlag) Set(text string) error {
	text = strings.TrimSpace(text)
	if number, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return fmt.Errorf("%q is not a percentage above 0%% and up to 100%%", text)
		}
		*m = memoryFlag{percent: percent}
		return nil
	}
	for _, u := range memoryUnits {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n >= 0 && n*u.bytes < 1<<62) {
			break
		}
		if n*u.bytes < leastMemory {
			return fmt.Errorf("%q is less than a node needs, %dMB", text, leastMemory>>20)
		}
		*m = memoryFlag{bytes: int64(n * u.bytes)}
		return nil
	}
	return fmt.Errorf("%q is neither a percentage nor a size; write 50%% or 4GB", text)
}

// limit returns the number of bytes that the flag means on a machine with this much memory.
func (m *memoryFlag) limit(machine int64) int64 {
	if m.percent == 0 {
		return m.bytes
	}
	return max(int64(float64(machine)*m.percent/100), leastMemory)
}

// A node with a small live heap would be collected after every few MiB of garbage, many times a
// second under load. That took a third of the processor time of an insert. So the heap grows to
// heapFloor at least before it is collected; heapSparse bounds this if almost nothing lives.
const (
	heapFloor  = 112 << 20
	heapSparse = 1000 // percent of the live heap
)

// percentOf returns how much garbage may be allocated before the next collection, in percent of the
// live heap.
func percentOf(live int64) int {
	return int(min(max((heapFloor-live)*100/max(live, 1), 100), heapSparse))
}

// rowCacheShare is the part of the memory for rows that were read lately.
const rowCacheShare = 16

// limitMemory sets the runtime's memory limit and has its collector paced by percentOf. GOMEMLIMIT
// and GOGC in the environment win. It returns how many bytes the cache of rows may have, 0 if the
// size of the machine's memory is not known.
func limitMemory(m memoryFlag, logger *slog.Logger) (rowCache int64) {
	defer paceCollector()
	machine, err := machineMemory()
	if err != nil && m.percent > 0 {
		logger.Warn("no memory limit is set: the size of the machine's memory is not known", "error", err)
		return 0
	}
	limit := m.limit(machine)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
		logger.Info("memory limit", "memory", m.String(), "bytes", limit)
	}
	return limit / rowCacheShare
}

func paceCollector() {
	if os.Getenv("GOGC") == "" {
		percent := percentOf(0)
		debug.SetGCPercent(percent)
		afterCollections(func() {
			sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
			metrics.Read(sample)
			// Setting it stops the world, so small differences are left alone.
			if p := percentOf(int64(sample[0].Value.Uint64())); p-p/8 > percent || p+p/8 < percent {
				percent = p
				debug.SetGCPercent(p)
			}
		})
	}
}

// collected is an object that nothing refers to: its finalizer runs after each collection.
type collected struct{ fn func() }

// afterCollections calls fn after each garbage collection, one call at a time.
func afterCollections(fn func()) { runtime.SetFinalizer(&collected{fn}, (*collected).finalize) }

func (c *collected) finalize() {
	c.fn()
	runtime.SetFinalizer(c, (*collected).finalize)
}
