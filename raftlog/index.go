package raftlog

import "fmt"

// place is the position of an entry.
type place struct {
	seg       *segment
	off, size uint32
}

// index finds a group's entries by their index. Entries may be missing while a log is replayed: if
// their segment was emptied, they were appended again and come later.
type index struct {
	first  uint64  // of places[0]
	places []place // a nil segment: missing
	values map[string]value
}

// value is a value of the stable store.
type value struct {
	bytes []byte
	seg   *segment
}

func (x *index) last() uint64 { return x.first + uint64(len(x.places)) - 1 }

func (x *index) get(i uint64) (place, bool) {
	if len(x.places) == 0 || i < x.first || i > x.last() {
		return place{}, false
	}
	p := x.places[i-x.first]
	return p, p.seg != nil
}

// maxGap bounds the gap that a replay accepts: no group has more entries in its log.
const maxGap = 1 << 26

func (x *index) put(i uint64, p place) error {
	switch {
	case len(x.places) == 0:
		x.first = i
		x.places = append(x.places, p)
	case i < x.first:
		if x.first-i > maxGap {
			return fmt.Errorf("entry %d before %d", i, x.first)
		}
		x.places = append(make([]place, x.first-i, int(x.first-i)+len(x.places)), x.places...)
		x.first = i
		x.places[0] = p
	case i <= x.last():
		old := &x.places[i-x.first]
		old.release()
		*old = p
	default:
		if i-x.last() > maxGap {
			return fmt.Errorf("entry %d behind %d", i, x.last())
		}
		for x.last() < i-1 {
			x.places = append(x.places, place{})
		}
		x.places = append(x.places, p)
	}
	p.seg.live.Add(int64(p.size))
	return nil
}

func (p *place) release() {
	if p.seg != nil {
		p.seg.live.Add(-int64(p.size))
		*p = place{}
	}
}

// dropSuffix removes entry i and all after it.
func (x *index) dropSuffix(i uint64) {
	for len(x.places) > 0 && x.last() >= i {
		n := len(x.places) - 1
		x.places[n].release()
		x.places = x.places[:n]
	}
}

// dropPrefix removes entry i and all before it.
func (x *index) dropPrefix(i uint64) {
	n := 0
	for n < len(x.places) && x.first+uint64(n) <= i {
		x.places[n].release()
		n++
	}
	x.first += uint64(n)
	if x.places = x.places[n:]; len(x.places) == 0 {
		x.places = nil
	}
}

func (x *index) set(key, v []byte, seg *segment) {
	if old, ok := x.values[string(key)]; ok {
		old.seg.live.Add(-old.weight(len(key)))
	}
	now := value{append([]byte(nil), v...), seg}
	seg.live.Add(now.weight(len(key)))
	x.values[string(key)] = now
}

func (v *value) weight(key int) int64 { return int64(recordHead + key + len(v.bytes)) }

// clear removes everything.
func (x *index) clear() {
	x.dropSuffix(0)
	for k, v := range x.values {
		v.seg.live.Add(-v.weight(len(k)))
	}
	*x = index{values: map[string]value{}}
}

// apply makes the change of one record of seg, whose offset is relative to base.
func (x *index) apply(e *edit, seg *segment, base uint32) error {
	switch e.kind {
	case kindAppend:
		return x.put(e.index, place{seg, base + e.off, e.size})
	case kindSuffix:
		x.dropSuffix(e.index)
	case kindPrefix:
		x.dropPrefix(e.index)
	case kindSet:
		x.set(e.key, e.value, seg)
	case kindForget:
		x.clear()
	}
	return nil
}

// checkComplete reports an entry that is still missing after a replay.
func (x *index) checkComplete() error {
	for i, p := range x.places {
		if p.seg == nil {
			return fmt.Errorf("entry %d is missing", x.first+uint64(i))
		}
	}
	return nil
}
