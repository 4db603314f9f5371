package writebuf

import (
	"bytes"
	"container/heap"
	"sort"

	"github.com/sherddb/sherd/txn"
)

// Scan walks the operations of a buffer on the keys of a span in the order of a scan: those in
// memory, and those of the file's runs, merged. Operations that are moved into the file meanwhile
// do no harm: memory and file keep what lies below a mark.
type Scan struct {
	memory  []Op
	runs    []*runScan // a heap by key
	reverse bool

	OK  bool   // Op holds the present one
	Op  Op     // valid until next
	buf []byte // of op, where it is from the file; runs get it afterwards
	// Of Op instead, if the runs have read its key alone: each of them would otherwise hold such a
	// value.
	large []byte
}

// runScan is the scan's place in one run.
type runScan struct {
	d       *spill
	start   int64
	order   orderReader
	lo, hi  int // what is left of it
	mark    int64
	reverse bool
	rec     record // the present one
	buf     []byte
}

// open adds the runs of d.
func (o *Scan) open(d *spill, sp txn.Span, mark int64) error {
	for i := range d.runs {
		r := &d.runs[i]
		if r.start >= mark {
			break
		}
		c := &runScan{
			d: &spill{f: d.f, size: d.size}, start: r.start, order: d.orders.reader(r.order), hi: r.order.n,
			mark: mark, reverse: o.reverse,
		}
		if err := c.bound(sp); err != nil {
			return err
		}
		more, err := c.next()
		if err != nil {
			return err
		}
		if more {
			o.runs = append(o.runs, c)
		}
	}
	heap.Init(o)
	return nil
}

// bound leaves the part of the run that lies in a span.
func (c *runScan) bound(sp txn.Span) (err error) {
	n := c.hi
	if c.lo, err = c.search(n, sp.Start); err == nil && len(sp.End) > 0 {
		c.hi, err = c.search(n, sp.End)
	}
	return err
}

// search returns the first place of n in the order with a key at or above key.
func (c *runScan) search(n int, key []byte) (place int, err error) {
	place = sort.Search(n, func(i int) bool {
		if err != nil {
			return true
		}
		var at uint32
		if at, err = c.order.at(i); err != nil {
			return true
		}
		var rec record
		if rec, c.buf, err = c.d.read(c.start+int64(at), c.buf, firstRead, true); err != nil {
			return true
		}
		return bytes.Compare(rec.op.Key, key) >= 0
	})
	return place, err
}

// next reads the next record that counts below the mark; the value of a large one stays where it
// is.
func (c *runScan) next() (more bool, err error) {
	for c.lo < c.hi {
		n := c.lo
		if c.reverse {
			c.hi--
			n = c.hi
		} else {
			c.lo++
		}
		place, err := c.order.at(n)
		if err != nil {
			return false, err
		}
		at := c.start + int64(place)
		if at >= c.mark {
			continue
		}
		c.rec, c.buf, err = c.d.read(at, c.buf, scanRead, true)
		return err == nil, err
	}
	return false, nil
}

// Next goes to the next key.
func (o *Scan) Next() error {
	o.OK, o.Op = false, Op{}
	if len(o.runs) > 0 && (len(o.memory) == 0 || o.compare(o.runs[0].rec.op.Key, o.memory[0].Key) < 0) {
		return o.nextOnDisk()
	}
	if len(o.memory) == 0 {
		return nil
	}
	o.OK, o.Op = true, o.memory[0]
	o.memory = o.memory[1:]
	for len(o.runs) > 0 && bytes.Equal(o.runs[0].rec.op.Key, o.Op.Key) { // what memory has is newer
		if err := o.advance(); err != nil {
			return err
		}
	}
	return nil
}

// nextOnDisk takes the least key of the runs with its newest operation.
func (o *Scan) nextOnDisk() error {
	at, d := int64(-1), o.runs[0].d
	whole := true
	for len(o.runs) > 0 && (at < 0 || bytes.Equal(o.runs[0].rec.op.Key, o.Op.Key)) {
		c := o.runs[0]
		if c.rec.at > at {
			at, o.OK, o.Op, whole = c.rec.at, true, c.rec.op, c.rec.encoded != nil
			o.buf, c.buf = c.buf, o.buf // the operation stays in it
		}
		if err := o.advance(); err != nil {
			return err
		}
	}
	if whole {
		return nil
	}
	var rec record
	var err error
	rec, o.large, err = d.read(at, o.large, scanRead, false)
	o.Op = rec.op
	return err
}

// advance moves the first run on.
func (o *Scan) advance() error {
	more, err := o.runs[0].next()
	if err != nil {
		return err
	}
	if more {
		heap.Fix(o, 0)
	} else {
		heap.Pop(o)
	}
	return nil
}

func (o *Scan) compare(a, b []byte) int {
	if o.reverse {
		return bytes.Compare(b, a)
	}
	return bytes.Compare(a, b)
}

// Len implements heap.Interface, as do the others.
func (o *Scan) Len() int { return len(o.runs) }
func (o *Scan) Less(i, j int) bool {
	return o.compare(o.runs[i].rec.op.Key, o.runs[j].rec.op.Key) < 0
}
func (o *Scan) Swap(i, j int) { o.runs[i], o.runs[j] = o.runs[j], o.runs[i] }

// Push implements heap.Interface.
func (o *Scan) Push(x any) { o.runs = append(o.runs, x.(*runScan)) }

// Pop implements heap.Interface.
func (o *Scan) Pop() any {
	n := len(o.runs) - 1
	x := o.runs[n]
	o.runs = o.runs[:n]
	return x
}
