package truncation

import (
	"io"
	"sync"
	"time"
)

const (
	retainEntries = 16384
	retainCuts    = 2 // of GrowthBytes each
	retainStream  = time.Minute
)

// retention says what of the log others may need.
type retention struct {
	mu sync.Mutex
	// last indexes at each growth of the log by GrowthBytes, the newest last; guarded by mu
	cuts    []uint64
	next    int               // number of a stream; guarded by mu
	streams map[int]streaming // guarded by mu
}

// streaming is a stream to a follower: from the marker's index on it needs the log.
type streaming struct {
	index uint64
	ended time.Time // zero: it goes on
}

// grown notes that the log has grown by GrowthBytes.
func (k *retention) grown(last uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cuts = append(k.cuts, last)
	if n := len(k.cuts); n > retainCuts {
		k.cuts = k.cuts[n-retainCuts:]
	}
}

// bound returns the index up to which the log may be cut.
func (k *retention) bound(last uint64, now time.Time) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	upTo := last - min(last, retainEntries)
	if len(k.cuts) == retainCuts {
		upTo = max(upTo, k.cuts[0])
	}
	for n, s := range k.streams {
		if !s.ended.IsZero() && now.Sub(s.ended) > retainStream {
			delete(k.streams, n)
			continue
		}
		upTo = min(upTo, s.index)
	}
	return upTo
}

// stream keeps the log behind an index while rd is read, and for the follower's way from there.
func (k *retention) stream(index uint64, rd io.ReadCloser) io.ReadCloser {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next++
	if k.streams == nil {
		k.streams = map[int]streaming{}
	}
	k.streams[k.next] = streaming{index: index}
	return &retained{rd, k, k.next, index}
}

// retained is a stream's reader.
type retained struct {
	io.ReadCloser
	k     *retention
	n     int
	index uint64
}

// Close implements io.Closer.
func (r *retained) Close() error {
	r.k.mu.Lock()
	r.k.streams[r.n] = streaming{r.index, time.Now()}
	r.k.mu.Unlock()
	return r.ReadCloser.Close()
}
