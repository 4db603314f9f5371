package exec

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// KeyLog keeps changes of keys in the order in which they were added, each with a number: in memory
// while they are few, then in a file. A position in the log is the start or end of changes.
type KeyLog struct {
	dir  string
	tail []byte // changes that are not in the file
	file *os.File
	cut  int64 // bytes in the file
}

const (
	keyLogMemory = 256 << 10
	keyLogWrite  = 64 << 10
	keyLogBatch  = 1024 // changes passed in one call
)

// NewKeyLog returns a KeyLog whose file, if it needs one, is in dir.
func NewKeyLog(dir string) *KeyLog { return &KeyLog{dir: dir} }

// Size is the position behind the last change.
func (l *KeyLog) Size() int64 { return l.cut + int64(len(l.tail)) }

// Add appends changes.
func (l *KeyLog) Add(of int, changes []KeyChange) error {
	var b []byte
	for i := range changes {
		ch := &changes[i]
		b = binary.AppendUvarint(b[:0], uint64(of))
		b = append(binary.AppendUvarint(b, uint64(len(ch.id))), ch.id...)
		b = appendKeyRow(appendKeyRow(b, ch.Old), ch.New)
		l.tail = append(binary.AppendUvarint(l.tail, uint64(len(b))), b...)
		if len(l.tail) < keyLogWrite || l.file == nil && len(l.tail) < keyLogMemory {
			continue
		}
		if err := l.write(); err != nil {
			return err
		}
	}
	return nil
}

// appendKeyRow appends the number of values plus one, and the values; 0 means no row.
func appendKeyRow(b []byte, row types.Row) []byte {
	if row == nil {
		return append(b, 0)
	}
	return appendRow(binary.AppendUvarint(b, uint64(len(row)+1)), row)
}

// write moves what is in memory to the file.
func (l *KeyLog) write() (err error) {
	if l.file == nil {
		if l.file, err = memory.TempFile(l.dir); err != nil {
			return spoolError(err)
		}
	}
	if _, err := l.file.WriteAt(l.tail, l.cut); err != nil {
		return spoolError(err)
	}
	l.cut += int64(len(l.tail))
	l.tail = nil // a reader may still use it
	return nil
}

// Truncate drops the changes after a position.
func (l *KeyLog) Truncate(at int64) {
	if at >= l.cut {
		l.tail = l.tail[: at-l.cut : at-l.cut] // a reader may still use the rest
		return
	}
	l.tail, l.cut = nil, at // the file is overwritten
}

// Each calls fn with the changes between two positions, in batches with one number. More changes
// may be added meanwhile.
func (l *KeyLog) Each(from, to int64, fn func(of int, changes []KeyChange) error) error {
	var in io.Reader = bytes.NewReader(l.tail[max(0, from-l.cut):max(0, to-l.cut)])
	if from < l.cut {
		in = io.MultiReader(io.NewSectionReader(l.file, from, min(to, l.cut)-from), in)
	}
	r := bufio.NewReaderSize(in, spoolBuffer)
	var batch []KeyChange
	last := 0
	for {
		of, ch, err := readKeyChange(r)
		if err != nil && err != io.EOF {
			return spoolError(err)
		}
		if len(batch) > 0 && (err == io.EOF || of != last || len(batch) == keyLogBatch) {
			if err := fn(last, batch); err != nil {
				return err
			}
			batch = nil
		}
		if err == io.EOF {
			return nil
		}
		batch, last = append(batch, ch), of
	}
}

// readKeyChange returns a change in memory of its own, and io.EOF at the end.
func readKeyChange(in *bufio.Reader) (of int, ch KeyChange, err error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, ch, err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in, b); err != nil {
		return 0, ch, io.ErrUnexpectedEOF
	}
	r := record{b}
	of = int(r.uvarint())
	ch.id = aliasString(r.bytes())
	ch.Old, ch.New = r.keyRow(), r.keyRow()
	return of, ch, nil
}

func (r *record) keyRow() types.Row {
	n := r.uvarint()
	if n == 0 {
		return nil
	}
	row := make(types.Row, n-1)
	r.row(row)
	return row
}

// Close closes the file.
func (l *KeyLog) Close() {
	if l.file != nil {
		l.file.Close() // it has no name any more
	}
	*l = KeyLog{dir: l.dir}
}

// appendRow appends values in the encoding of spools.
func appendRow(b []byte, row types.Row) []byte {
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

// row reads values into row.
func (r *record) row(row types.Row) {
	for i := range row {
		k := types.Kind(r.byte())
		a, n := r.varint(), r.varint()
		row[i] = types.Datum{K: k, A: int32(a), N: n, S: aliasString(r.bytes())}
	}
}
