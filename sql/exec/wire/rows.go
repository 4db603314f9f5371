package wire

import (
	"encoding/binary"

	"github.com/sherddb/sherd/sql/types"
)

// A batch is: rows(4, little endian) · columns(2) · a kind for each column · rows. A row is a
// bitmap of its nulls and its values. The kind of a column with only nulls is null; in a column of
// kind mixed, each value has its kind before it.
const (
	batchHead = 6
	mixed     = 0xff

	// BatchRows and BatchBytes limit a batch. A single row may be larger.
	BatchRows  = 256
	BatchBytes = 64 << 10

	maxBatchRows = 1 << 16 // that a reader accepts
	maxColumns   = 1 << 15
)

// RowWriter encodes batches of rows. The zero RowWriter is ready.
type RowWriter struct {
	buf   []byte
	rows  int
	cols  int
	mixed []bool // columns that have had values of two kinds
}

// Add appends a copy of a row. It returns false, and does nothing, if the row does not fit the
// earlier ones because its values have other kinds or another number: then the caller must take the
// batch first.
func (w *RowWriter) Add(row types.Row) bool {
	if w.rows == 0 {
		w.begin(len(row))
	}
	if len(row) != w.cols || !w.fits(row) {
		return false
	}
	at := len(w.buf)
	for i := 0; i < len(row); i += 8 {
		w.buf = append(w.buf, 0)
	}
	for i := range row {
		d := &row[i]
		if d.K == types.KindNull {
			w.buf[at+i>>3] |= 1 << (i & 7)
			continue
		}
		if w.buf[batchHead+i] == mixed {
			w.buf = append(w.buf, byte(d.K))
		}
		w.buf = appendValue(w.buf, d)
	}
	w.rows++
	return true
}

func (w *RowWriter) begin(cols int) {
	if cols != w.cols {
		w.cols, w.mixed = cols, make([]bool, cols)
	}
	w.buf = append(w.buf[:0], 0, 0, 0, 0, byte(cols), byte(cols>>8))
	for _, m := range w.mixed {
		if m {
			w.buf = append(w.buf, mixed)
		} else {
			w.buf = append(w.buf, byte(types.KindNull))
		}
	}
}

// fits sets the kinds of columns that had only nulls. It returns false if a value has another kind
// than the earlier ones.
func (w *RowWriter) fits(row types.Row) bool {
	kinds := w.buf[batchHead : batchHead+len(row)]
	for i := range row {
		k := byte(row[i].K)
		if k == kinds[i] || k == byte(types.KindNull) || kinds[i] == mixed {
			continue
		}
		if kinds[i] == byte(types.KindNull) {
			kinds[i] = k
			continue
		}
		w.mixed[i] = true // in the next batch
		return false
	}
	return true
}

// Len returns the number of rows added.
func (w *RowWriter) Len() int { return w.rows }

// Size returns the batch's size in bytes.
func (w *RowWriter) Size() int { return len(w.buf) }

// Full reports whether the batch has reached its size.
func (w *RowWriter) Full() bool { return w.rows >= BatchRows || len(w.buf) >= BatchBytes }

// Take returns the batch, valid until the next Add, and starts another one.
func (w *RowWriter) Take() []byte {
	if w.rows == 0 {
		return nil
	}
	binary.LittleEndian.PutUint32(w.buf, uint32(w.rows))
	w.rows = 0
	return w.buf
}

// RowReader reads batches. The zero RowReader has no rows.
type RowReader struct {
	r     reader
	rows  int
	kinds string
	row   types.Row
}

// Reset points the reader at a batch.
func (r *RowReader) Reset(b []byte) error {
	r.rows, r.r = 0, reader{s: alias(b), what: "rows"}
	if len(b) < batchHead {
		return errDamaged("rows")
	}
	rows, cols := binary.LittleEndian.Uint32(b), int(binary.LittleEndian.Uint16(b[4:]))
	if rows > maxBatchRows || cols > maxColumns || len(b) < batchHead+cols {
		return errDamaged("rows")
	}
	r.r.s = r.r.s[batchHead:]
	r.kinds = r.r.take(cols)
	for i := range cols {
		if k := r.kinds[i]; int(k) >= len(layouts) && k != mixed {
			return errDamaged("rows")
		}
	}
	if r.row == nil || cap(r.row) < cols { // never nil: a row may have no columns
		r.row = make(types.Row, cols)
	}
	r.rows, r.row = int(rows), r.row[:cols]
	return nil
}

// Len returns the number of rows left.
func (r *RowReader) Len() int { return r.rows }

// Next returns the next row, valid until the next call; its values alias the batch. It returns nil
// after the last row.
func (r *RowReader) Next() (types.Row, error) {
	if r.rows == 0 {
		return nil, nil
	}
	nulls := r.r.take((len(r.row) + 7) / 8)
	if r.r.bad {
		return nil, r.r.end()
	}
	for i := range r.row {
		if nulls[i>>3]&(1<<(i&7)) != 0 {
			r.row[i] = types.Null
			continue
		}
		k := r.kinds[i]
		if k == mixed {
			k = byte(r.r.kind())
		}
		r.r.value(&r.row[i], types.Kind(k))
	}
	if r.rows--; r.r.bad || r.rows == 0 && r.r.s != "" {
		r.rows = 0
		return nil, errDamaged("rows")
	}
	return r.row, nil
}
