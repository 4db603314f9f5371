package heat

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	sampledKeys    = 32   // of a bucket
	sampledKeySize = 1024 // longer keys are not kept
)

// sample is some of the keys of a bucket that were written: each write is in it with a probability
// that falls with its age as what it counts for does (Efraimidis and Spirakis, "Weighted random
// sampling with a reservoir", 2006: the least of -ln(u)/w, here by their logarithms).
type sample struct {
	list []sampledKey
	last uint64
}

type sampledKey struct {
	key    string
	number uint64 // of writes, as they came
	rank   float64
}

// add records a write; age is the time since the meter's beginning in units of Smoothed.
func (s *sample) add(key []byte, age float64) {
	s.last++
	x := sampledKey{number: s.last, rank: math.Log(-math.Log(1-rand.Float64())) - age}
	if len(s.list) < sampledKeys {
		x.key = string(key)
		s.list = append(s.list, x)
		return
	}
	most := 0
	for i := range s.list {
		if s.list[i].rank > s.list[most].rank {
			most = i
		}
	}
	if x.rank < s.list[most].rank {
		x.key = string(key)
		s.list[most] = x
	}
}

// WriteInOrder is Write of a row in a bucket whose keys are a range: it keeps a sample of the
// written keys, by which the split key is chosen.
func (m *Meter) WriteInOrder(bucket uint32, key []byte) {
	if !sampled() {
		return
	}
	m.note(bucket, key, Rate{Writes: SampleEvery})
	if len(key) <= sampledKeySize {
		m.keep(bucket, key)
	}
}

func (m *Meter) keep(bucket uint32, key []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.written[bucket]
	if s == nil {
		if len(m.written) >= 2*bucketCounters { // only the most used buckets have samples
			for b := range m.written {
				if _, ok := m.buckets.at[b]; !ok {
					delete(m.written, b)
				}
			}
		}
		s = &sample{}
		m.written[bucket] = s
	}
	s.add(key, m.now().Sub(m.began).Seconds()/Smoothed.Seconds())
}

// Written returns some of the keys of a bucket that were written, the oldest first.
func (m *Meter) Written(bucket uint32) (out [][]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.written[bucket]
	if s == nil {
		return nil
	}
	list := slices.Clone(s.list)
	slices.SortFunc(list, func(a, b sampledKey) int { return int(int64(a.number - b.number)) })
	for _, x := range list {
		out = append(out, []byte(x.key))
	}
	return out
}
