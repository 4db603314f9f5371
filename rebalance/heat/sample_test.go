package heat

import (
	"fmt"
	"testing"
	"time"
)

// The sample of a bucket's keys is of all the last minutes, the recent ones more, in the order in
// which they were written; there are never more buckets with samples than there may be.
func TestWrittenKeys(t *testing.T) {
	c := newClock()
	m := NewMeter(c.now)
	const n = 3600
	for i := range n { // of one hour
		m.keep(1<<20, fmt.Appendf(nil, "%06d", i))
		c.t = c.t.Add(time.Second)
	}
	got := m.Written(1 << 20)
	if len(got) != sampledKeys {
		t.Fatalf("%d keys", len(got))
	}
	recent := 0
	for i, k := range got {
		if i > 0 && string(got[i-1]) >= string(k) {
			t.Errorf("%s after %s", k, got[i-1])
		}
		if string(k) >= fmt.Sprintf("%06d", n-1800) { // three times Smoothed: 95 of 100 are expected
			recent++
		}
	}
	if recent < sampledKeys*2/3 || string(got[0]) > fmt.Sprintf("%06d", n-120) {
		t.Errorf("%d of %d are of the last half hour, the oldest is %s", recent, len(got), got[0])
	}
	if m.Written(7) != nil {
		t.Error("keys of a bucket that nobody wrote to")
	}
	for b := range uint32(10_000) {
		m.note(b, nil, Rate{Writes: 1})
		m.keep(b, []byte("k"))
	}
	if len(m.written) > 2*bucketCounters+1 {
		t.Errorf("%d buckets have samples", len(m.written))
	}
}
