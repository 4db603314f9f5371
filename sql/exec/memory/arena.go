package memory

import (
	"unsafe"

	"github.com/sherddb/sherd/sql/types"
)

const (
	firstDatums = 64       // of an arena's first slab
	slabDatums  = 2048     // of its later ones
	firstBytes  = 1 << 10  // of an arena's first chunk of text
	slabBytes   = 64 << 10 // of its later ones
)

// Arena keeps copies of rows, datums in slabs and their text in chunks, so that a retained row
// needs no allocation of its own.
type Arena struct {
	Mem    *Account
	Exact  bool // for one row: allocates no more than it needs
	datums []types.Datum
	bytes  []byte
	taken  int64
}

// Row returns space for n datums.
func (a *Arena) Row(n int) (types.Row, error) {
	if len(a.datums) < n {
		size := a.size(n, firstDatums, slabDatums, DatumSize, a.taken == 0)
		if err := a.grow(int64(size) * DatumSize); err != nil {
			return nil, err
		}
		a.datums = make([]types.Datum, size)
	}
	r := a.datums[:n:n]
	a.datums = a.datums[n:]
	return r, nil
}

// size returns how much to allocate if need is requested: little at first, and no more than a
// quarter of what is left, so that the last rows that fit waste little.
func (a *Arena) size(need, first, later int, unit int64, isFirst bool) int {
	if a.Exact {
		return need
	}
	size := later
	if isFirst {
		size = first
	}
	if left := a.Mem.Left(); left > 0 {
		size = min(size, int(left/unit/4))
	}
	return max(need, size)
}

// Clone copies a row and the memory that its datums alias.
func (a *Arena) Clone(row types.Row) (types.Row, error) {
	r, err := a.Row(len(row))
	if err != nil {
		return nil, err
	}
	for i, d := range row {
		if d.S != "" {
			if d.S, err = a.text(d.S); err != nil {
				return nil, err
			}
		}
		r[i] = d
	}
	return r, nil
}

// Datum copies the memory that d aliases.
func (a *Arena) Datum(d types.Datum) (types.Datum, error) {
	if d.S == "" {
		return d, nil
	}
	s, err := a.text(d.S)
	d.S = s
	return d, err
}

func (a *Arena) text(s string) (string, error) {
	if len(a.bytes) < len(s) {
		size := a.size(len(s), firstBytes, slabBytes, 1, a.taken <= firstDatums*DatumSize)
		if err := a.grow(int64(size)); err != nil {
			return "", err
		}
		a.bytes = make([]byte, size)
	}
	n := copy(a.bytes, s)
	out := unsafe.String(unsafe.SliceData(a.bytes), n)
	a.bytes = a.bytes[n:]
	return out, nil
}

func (a *Arena) grow(n int64) error {
	if err := a.Mem.Grow(n); err != nil {
		return err
	}
	a.taken += n
	return nil
}

// Free returns the memory to the account. The rows must not be used any more.
func (a *Arena) Free() {
	a.Mem.Release(a.taken)
	*a = Arena{Mem: a.Mem}
}
