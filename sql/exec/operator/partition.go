package operator

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/types"
)

// fanOut is how many partitions rows are divided into.
const fanOut = 16

// partitions are the rows of keys for which a hash table has no room, divided by the hash of their
// key, in a file. Each partition is processed by itself afterwards, and divided again, by another
// hash, if it is too large. Rows of one key keep their order.
type partitions struct {
	c    *Execution
	seed maphash.Seed
	file *spool.File
	size int // of a block
	runs [fanOut]*spool.Run
	buf  []byte
}

// newPartitions returns partitions whose buffers take a small part of an operation's share.
func newPartitions(c *Execution, mem *memory.Account) *partitions {
	size := min(max(mem.Size()/(4*fanOut), 2<<10), spool.BufferSize)
	return &partitions{c: c, seed: maphash.MakeSeed(), file: spool.NewFile(mem), size: int(size)}
}

// number returns the partition of a key.
func (p *partitions) number(key []byte) int { return int(maphash.Bytes(p.seed, key) % fanOut) }

// add appends a row, and a number that belongs to it, to a partition.
func (p *partitions) add(to int, tag int, row types.Row) error {
	run := p.runs[to]
	if run == nil {
		run = p.file.NewRun(p.size)
		p.runs[to] = run
	}
	p.buf = spool.AppendRow(binary.AppendUvarint(p.buf[:0], uint64(tag)), row)
	return run.Add(p.buf)
}

// end writes all partitions to their end.
func (p *partitions) end() error {
	for _, run := range p.runs {
		if run == nil {
			continue
		}
		if err := run.End(); err != nil {
			return err
		}
	}
	return nil
}

// read passes on the rows of a partition, each valid during the call. width is the number of their
// columns.
func (p *partitions) read(run *spool.Run, width int, fn func(tag int, row types.Row) error) error {
	if run == nil {
		return nil
	}
	r := run.Reader()
	defer r.Close()
	row := make(types.Row, width)
	for {
		b, ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		if err := p.c.Tick(); err != nil {
			return err
		}
		rec := spool.Record{B: b}
		tag := int(rec.Uvarint())
		rec.Row(row)
		if err := fn(tag, row); err != nil {
			return err
		}
	}
}

// close deletes the file.
func (p *partitions) close() {
	if p != nil {
		p.file.Close()
	}
}
