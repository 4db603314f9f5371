package writebuf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"os"
	"slices"

	"github.com/sherddb/sherd/storage/scratch"
)

// orderFile has the orders of the runs of a buffer's file: 4 bytes for each operation, its place
// after the run's start, by key. What is written is never written over, because a scan may still
// read it.
type orderFile struct {
	f    *os.File
	size int64
}

// runOrder says where the order of a run is.
type runOrder struct {
	at int64
	n  int // operations
}

const (
	placeBytes  = 4
	orderWindow = 256 // places that are read at once
)

// keyOrder returns the places of the operations in memory by key, those of one key in the order in
// which they were written.
func (s *Buffer) keyOrder() []uint32 {
	list := make([]int32, len(s.ops))
	for i := range list {
		list[i] = int32(i)
	}
	slices.SortFunc(list, func(x, y int32) int {
		if c := bytes.Compare(s.at(x).Key, s.at(y).Key); c != 0 {
			return c
		}
		return cmp.Compare(x, y)
	})
	places := make([]uint32, len(list))
	for i, x := range list {
		places[i] = uint32(s.ops[x].at)
	}
	return places
}

// add writes an order.
func (o *orderFile) add(places []uint32) (runOrder, error) {
	b := make([]byte, 0, placeBytes*len(places))
	for _, p := range places {
		b = binary.BigEndian.AppendUint32(b, p)
	}
	if _, err := o.f.WriteAt(b, o.size); err != nil {
		return runOrder{}, scratch.Failed(err)
	}
	r := runOrder{at: o.size, n: len(places)}
	o.size += int64(len(b))
	return r, nil
}

// below returns the order of those operations of a run that are before a place.
func (o *orderFile) below(r runOrder, place int64) (runOrder, error) {
	var left []uint32
	in := o.reader(r)
	for i := range r.n {
		p, err := in.at(i)
		if err != nil {
			return runOrder{}, err
		}
		if int64(p) < place {
			left = append(left, p)
		}
	}
	return o.add(left)
}

func (o *orderFile) reader(r runOrder) orderReader {
	return orderReader{f: o.f, order: r}
}

// orderReader reads an order, some places at a time.
type orderReader struct {
	f      *os.File
	order  runOrder
	window []byte
	first  int // place of the order with which the window begins
}

// at returns the place after the run's start of the i-th operation by key.
func (r *orderReader) at(i int) (uint32, error) {
	if first := i - i%orderWindow; r.window == nil || first != r.first {
		n := placeBytes * min(orderWindow, r.order.n-first)
		r.window = slices.Grow(r.window[:0], n)[:n]
		if _, err := r.f.ReadAt(r.window, r.order.at+int64(placeBytes*first)); err != nil {
			r.window = nil
			return 0, scratch.Failed(err)
		}
		r.first = first
	}
	return binary.BigEndian.Uint32(r.window[placeBytes*(i-r.first):]), nil
}
