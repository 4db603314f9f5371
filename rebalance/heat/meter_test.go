package heat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// clock is a time that the test moves.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func newClock() *clock { return &clock{time.Unix(1_800_000_000, 0)} }

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s is %.3f, want %.3f", what, got, want)
	}
}

func TestRatesAreOfTheLastMinutes(t *testing.T) {
	c := newClock()
	m := NewMeter(c.now)
	second := func(reads, writes int) {
		m.note(7, []byte("k"), Rate{float64(reads), float64(writes)})
		c.t = c.t.Add(time.Second)
	}
	for range 60 {
		second(100, 10)
	}
	near(t, "the rate after a minute", m.Total().Reads, 100, 0.05)
	near(t, "of writes", m.Total().Writes, 10, 0.05)
	for range 3600 {
		second(20, 0)
	}
	near(t, "the rate an hour later", m.Total().Reads, 20, 0.02)
	c.t = c.t.Add(Smoothed)
	near(t, "the rate after a pause of τ", m.Total().Reads, 20/math.E, 0.02)
	c.t = c.t.Add(100 * 24 * time.Hour)
	if r := m.Total().Total(); r > 1e-9 {
		t.Errorf("after a hundred days it is %g", r)
	}
	second(SampleEvery, 0)
	if r := m.Total(); math.IsNaN(r.Reads) || math.IsInf(r.Reads, 0) || r.Reads <= 0 {
		t.Errorf("after a rescale it is %g", r.Reads)
	}
}

func TestMostUsedAreFound(t *testing.T) {
	c := newClock()
	m := NewMeter(c.now)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200_000 {
		bucket := r.Uint32N(1 << 20)
		if i%10 == 0 {
			bucket = 42
		}
		if i%25 == 0 {
			bucket = 43
		}
		m.note(bucket, fmt.Appendf(nil, "key %d", bucket), Rate{Reads: 1})
	}
	c.t = c.t.Add(time.Second)
	got, keys := m.Buckets(5), m.Keys(2)
	if got[0].Bucket != 42 || got[1].Bucket != 43 || keys[0].Key != "key 42" || keys[1].Key != "key 43" {
		t.Fatalf("got %v and %v", got, keys)
	}
	near(t, "the share of the first", got[0].Reads/m.Total().Reads, 0.08, 0.1)
	if got[2].Reads > 0.01*got[0].Reads {
		t.Errorf("what is not hot is told to be: %v", got[2])
	}
}

func TestSampleIsFair(t *testing.T) {
	c := newClock()
	m := NewMeter(c.now)
	for range 400_000 {
		m.Read(1, []byte("r"))
		m.Write(2, []byte("w"))
	}
	m.Scan(3, 1000)
	c.t = c.t.Add(time.Second)
	near(t, "reads", m.Total().Reads, 401_000, 0.03)
	near(t, "writes", m.Total().Writes, 400_000, 0.03)
}

func BenchmarkRead(b *testing.B) {
	m := NewMeter(time.Now)
	keys := make([][]byte, 1024)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "table and bucket and key of customers/%d-A", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Read(uint32(i%1024), keys[i%1024])
	}
}
