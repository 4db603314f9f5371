package heat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// Smoothed is the time over which rates are smoothed.
	Smoothed = 10 * time.Minute
	// SampleEvery is how many accesses a counted one represents, on average. It is a power of two.
	SampleEvery = 16

	bucketCounters = 128
	keyCounters    = 128
	rescaleAfter   = 64 // times Smoothed, so that weights stay far from what a float64 holds
)

// Rate is accesses a second.
type Rate struct{ Reads, Writes float64 }

// Total is both together.
func (r Rate) Total() float64 { return r.Reads + r.Writes }

// Bucket is a bucket that is used much.
type Bucket struct {
	Bucket uint32
	Rate
}

// Key is a key that is used much.
type Key struct {
	Key string
	Rate
}

// Meter measures one fragment. The zero value is not usable; make it with NewMeter. Its methods may
// be called concurrently.
type Meter struct {
	now func() time.Time

	mu      sync.Mutex
	began   time.Time // guarded by mu, as all below
	from    time.Time // weights are of this time
	all     Rate      // weighed
	buckets *table[uint32]
	keys    *table[string]
	written map[uint32]*sample // by bucket
}

// NewMeter makes a Meter that has seen nothing.
func NewMeter(now func() time.Time) *Meter {
	t := now()
	return &Meter{
		now: now, began: t, from: t, buckets: newTable[uint32](bucketCounters), keys: newTable[string](keyCounters),
		written: map[uint32]*sample{},
	}
}

// sampled reports whether to count an access.
func sampled() bool { return rand.Uint32()%SampleEvery == 0 }

// Read notes that the row under key was read, Write that it was written. Both cost a few
// nanoseconds except the sample.
func (m *Meter) Read(bucket uint32, key []byte) {
	if sampled() {
		m.note(bucket, key, Rate{Reads: SampleEvery})
	}
}

// Write notes that the row under key was written.
func (m *Meter) Write(bucket uint32, key []byte) {
	if sampled() {
		m.note(bucket, key, Rate{Writes: SampleEvery})
	}
}

// Scan counts n rows read of a bucket whose keys do not matter.
func (m *Meter) Scan(bucket uint32, n int64) {
	if n > 0 {
		m.note(bucket, nil, Rate{Reads: float64(n)})
	}
}

func (m *Meter) note(bucket uint32, key []byte, r Rate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.rescale(now)
	w := math.Exp(float64(now.Sub(m.from)) / float64(Smoothed))
	r.Reads, r.Writes = r.Reads*w, r.Writes*w
	m.all.Reads, m.all.Writes = m.all.Reads+r.Reads, m.all.Writes+r.Writes
	m.buckets.add(bucket, r)
	if key != nil {
		m.addKey(key, r)
	}
}

// addKey copies a key only if it is new.
func (m *Meter) addKey(key []byte, r Rate) {
	if i, ok := m.keys.at[string(key)]; ok {
		m.keys.grow(i, r)
		return
	}
	m.keys.take(string(key), r)
}

// rescale relates weights to the present, before they become too large.
func (m *Meter) rescale(now time.Time) {
	age := now.Sub(m.from)
	if age < rescaleAfter*Smoothed {
		return
	}
	by := math.Exp(-float64(age) / float64(Smoothed))
	m.from = now
	m.all.Reads, m.all.Writes = m.all.Reads*by, m.all.Writes*by
	m.buckets.scale(by)
	m.keys.scale(by)
}

// perSecond returns the rate of a weight of now. A Meter that has run for less than Smoothed uses
// the time that it has run.
func (m *Meter) perSecond(now time.Time) float64 {
	age := max(now.Sub(m.began), time.Second)
	window := Smoothed.Seconds() * (1 - math.Exp(-float64(age)/float64(Smoothed)))
	return math.Exp(-float64(now.Sub(m.from))/float64(Smoothed)) / window
}

// Total returns the rate of all accesses.
func (m *Meter) Total() Rate {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.perSecond(m.now())
	return Rate{m.all.Reads * f, m.all.Writes * f}
}

// Buckets returns the n buckets that are used most, the most used first; Keys the keys.
func (m *Meter) Buckets(n int) (out []Bucket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.perSecond(m.now())
	m.buckets.each(n, func(b uint32, r Rate) { out = append(out, Bucket{b, Rate{r.Reads * f, r.Writes * f}}) })
	return out
}

// Keys returns the n keys that are used most, the most used first.
func (m *Meter) Keys(n int) (out []Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.perSecond(m.now())
	m.keys.each(n, func(k string, r Rate) { out = append(out, Key{k, Rate{r.Reads * f, r.Writes * f}}) })
	return out
}

// table is a Space-Saving summary.
type table[K comparable] struct {
	at   map[K]int
	list []counter[K]
	max  int
}

type counter[K comparable] struct {
	key  K
	rate Rate
	over float64 // by how much it may be too large
}

func newTable[K comparable](k int) *table[K] { return &table[K]{at: make(map[K]int, k), max: k} }

func (t *table[K]) add(key K, r Rate) {
	if i, ok := t.at[key]; ok {
		t.grow(i, r)
		return
	}
	t.take(key, r)
}

func (t *table[K]) grow(i int, r Rate) {
	c := &t.list[i]
	c.rate.Reads, c.rate.Writes = c.rate.Reads+r.Reads, c.rate.Writes+r.Writes
}

// take assigns a counter to key: a new one, or the least one.
func (t *table[K]) take(key K, r Rate) {
	if len(t.list) < t.max {
		t.at[key] = len(t.list)
		t.list = append(t.list, counter[K]{key: key, rate: r})
		return
	}
	least := 0
	for i := range t.list {
		if t.list[i].rate.Total()+t.list[i].over < t.list[least].rate.Total()+t.list[least].over {
			least = i
		}
	}
	c := &t.list[least]
	delete(t.at, c.key)
	t.at[key] = least
	*c = counter[K]{key: key, rate: r, over: c.rate.Total() + c.over}
}

func (t *table[K]) scale(by float64) {
	for i := range t.list {
		c := &t.list[i]
		c.rate.Reads, c.rate.Writes, c.over = c.rate.Reads*by, c.rate.Writes*by, c.over*by
	}
}

// each calls f for the n largest, ordered by their certain part.
func (t *table[K]) each(n int, f func(K, Rate)) {
	sorted := slices.Clone(t.list)
	slices.SortFunc(sorted, func(a, b counter[K]) int { return cmp.Compare(b.rate.Total(), a.rate.Total()) })
	for _, c := range sorted[:min(n, len(sorted))] {
		f(c.key, c.rate)
	}
}
