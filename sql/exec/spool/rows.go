package spool

import (
	"encoding/binary"
	"slices"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// Rows is a spool of rows.
type Rows struct {
	Spool
	buf []byte
	row types.Row
}

// NewRows returns a spool whose memory is counted.
func NewRows(mem *memory.Account) *Rows { return &Rows{Spool: Spool{Mem: mem}} }

// Keep appends a copy of a row.
func (s *Rows) Keep(row types.Row) error {
	b := AppendRow(s.buf[:0], row)
	s.buf, s.row = b, slices.Grow(s.row[:0], len(row))[:len(row)]
	return s.Add(b)
}

// Emit passes the rows on, each valid during the call. It calls tick before each, and ends if that
// returns an error.
func (s *Rows) Emit(tick func() error, emit func(row types.Row) error) error {
	return s.Each(func(b []byte) error {
		if err := tick(); err != nil {
			return err
		}
		r := Record{b}
		r.Row(s.row)
		return emit(s.row)
	})
}

// AppendRow appends values.
func AppendRow(b []byte, row types.Row) []byte {
	for i := range row {
		d := &row[i]
		b = append(b, byte(d.K))
		b = binary.AppendVarint(b, int64(d.A))
		b = binary.AppendVarint(b, d.N)
		b = binary.AppendUvarint(b, uint64(len(d.S)))
		b = append(b, d.S...)
	}
	return b
}
