package rowcache

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sherddb/sherd/txn"
)

func get(t *testing.T, d *Database, key string, T txn.Timestamp) string {
	t.Helper()
	value, version, ok := d.Get([]byte(key), T)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s@%d", value, version)
}

func add(d *Database, m Moment, T txn.Timestamp, key, value string, version txn.Timestamp) {
	d.Add(m, T, []byte(key), []byte(value), version)
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEntries(t *testing.T) {
	c := New(1 << 20)
	d, other := c.Open(10), c.Open(10)
	add(d, d.Now(), 20, "a", "1", 5)
	want(t, get(t, d, "a", 20), "1@5")
	want(t, get(t, d, "a", 5), "1@5")
	want(t, get(t, d, "a", 4), "")      // an older version, or none
	want(t, get(t, other, "a", 20), "") // another database
	want(t, get(t, d, "b", 20), "")

	value, _, _ := d.Get([]byte("a"), 20)
	value[0] = 'x' // is the caller's
	want(t, get(t, d, "a", 20), "1@5")

	add(d, d.Now(), 20, "empty", "", 6)
	if value, version, ok := d.Get([]byte("empty"), 20); !ok || value == nil || len(value) > 0 || version != 6 {
		t.Error(value, version, ok)
	}
	d.Clear()
	want(t, get(t, d, "a", 20), "")
	add(d, d.Now(), 20, "a", "2", 6)
	want(t, get(t, d, "a", 20), "2@6")
}

// TestNewest: what is added is the newest version (RC1, RC3).
func TestNewest(t *testing.T) {
	d := New(1 << 20).Open(10)
	add(d, d.Now(), 9, "floor", "1", 5)
	want(t, get(t, d, "floor", 20), "") // there may be a version at 10

	d.Begin()
	d.Write([]byte("a"), 30)
	d.End()
	add(d, d.Now(), 29, "a", "1", 5)
	want(t, get(t, d, "a", 40), "") // there is one at 30
	add(d, d.Now(), 30, "a", "2", 30)
	want(t, get(t, d, "a", 40), "2@30")
}

// TestWrites: no batch may be open while a reader reads what it adds (RC2, RC3).
func TestWrites(t *testing.T) {
	d := New(1 << 20).Open(0)
	add(d, d.Now(), 20, "a", "1", 5)
	d.Begin()
	want(t, get(t, d, "a", 20), "1@5") // this key is not written yet
	d.Write([]byte("a"), 25)
	want(t, get(t, d, "a", 20), "")
	add(d, d.Now(), 30, "a", "1", 5)
	want(t, get(t, d, "a", 30), "") // open at both times
	m := d.Now()
	d.End()
	add(d, m, 30, "a", "1", 5)
	want(t, get(t, d, "a", 30), "") // open when the reader began
	m = d.Now()
	d.Begin()
	add(d, m, 30, "a", "1", 5)
	want(t, get(t, d, "a", 30), "") // open now
	d.Write([]byte("a"), 26)
	d.End()
	add(d, m, 30, "a", "1", 5)
	want(t, get(t, d, "a", 30), "") // one has come and gone
	add(d, d.Now(), 30, "a", "3", 26)
	want(t, get(t, d, "a", 30), "3@26")
}

func TestCleared(t *testing.T) {
	d := New(1 << 20).Open(0)
	m := d.Now()
	d.Clear()
	add(d, m, 30, "a", "1", 5)
	want(t, get(t, d, "a", 30), "") // read before
}

func TestSizes(t *testing.T) {
	c := New(1 << 20)
	d := c.Open(0)
	large := string(make([]byte, 9<<10))
	add(d, d.Now(), 1, "large", large, 1)
	want(t, get(t, d, "large", 1), "")
	for i := range 100_000 {
		add(d, d.Now(), 1, fmt.Sprint("key ", i), "some bytes of a row that is not very long", 1)
	}
	if n := c.entries.Capacity(); n > 1<<20 {
		t.Errorf("%d bytes", n)
	}
	want(t, get(t, d, "key 99999", 1), "some bytes of a row that is not very long@1")
	want(t, get(t, d, "key 1", 1), "")
}

func TestNone(t *testing.T) {
	var c *Cache
	d := c.Open(5)
	d.Begin()
	d.Write([]byte("a"), 6)
	d.End()
	add(d, d.Now(), 9, "a", "1", 6)
	d.Clear()
	want(t, get(t, d, "a", 9), "")
}

// store is a database of versions, whose writers do not hold readers up.
type store struct {
	mu   sync.RWMutex
	rows map[string][]txn.Timestamp
}

func (s *store) read(key string, T txn.Timestamp) (at txn.Timestamp) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, v := range s.rows[key] {
		if v <= T {
			at = max(at, v)
		}
	}
	return at
}

// TestConcurrent has readers at times up to the last ended batch beside a writer of batches, which
// reads after each: each hit must be what the store has.
func TestConcurrent(t *testing.T) {
	const keys, readers, rounds = 40, 4, 5000
	s := &store{rows: map[string][]txn.Timestamp{}}
	d := New(1 << 20).Open(0)
	var (
		clock, closed atomic.Uint64 // of the last batch, and of the last that has ended
		hits          atomic.Int64
		asked         sync.WaitGroup
	)
	ask := func(r *rand.Rand) {
		key, T := fmt.Sprint(r.IntN(keys)), txn.Timestamp(closed.Load())
		T -= min(T, txn.Timestamp(r.IntN(5)))
		value, version, ok := d.Get([]byte(key), T)
		if !ok {
			m := d.Now()
			if at := s.read(key, T); at > 0 {
				d.Add(m, T, []byte(key), binary.BigEndian.AppendUint64(nil, uint64(at)), at)
			}
			return
		}
		hits.Add(1)
		if at := s.read(key, T); at != version || binary.BigEndian.Uint64(value) != uint64(version) {
			t.Errorf("%s at %d: version %d, %x; the store has %d", key, T, version, value, at)
		}
	}
	stop := make(chan struct{})
	for n := range readers {
		asked.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(n)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				ask(r)
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range rounds {
		at := txn.Timestamp(clock.Add(1))
		d.Begin()
		for range 1 + r.IntN(4) {
			key := fmt.Sprint(r.IntN(keys))
			d.Write([]byte(key), at)
			s.mu.Lock()
			s.rows[key] = append(s.rows[key], at)
			s.mu.Unlock()
		}
		d.End()
		closed.Store(uint64(at))
		for range 4 {
			ask(r)
		}
	}
	close(stop)
	asked.Wait()
	if hits.Load() == 0 {
		t.Error("no hit")
	}
}
