package keychange

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/types"
)

// Log keeps changes of keys in the order in which they were added, each with a number: in memory
// while they are few, then in a file. A position in the log is the start or end of changes.
type Log struct {
	dir  string
	tail []byte // changes that are not in the file
	file *os.File
	cut  int64 // bytes in the file
}

const (
	logMemory = 256 << 10
	logWrite  = 64 << 10
	logBatch  = 1024 // changes passed in one call
)

// NewLog returns a Log whose file, if it needs one, is in dir.
func NewLog(dir string) *Log { return &Log{dir: dir} }

// Size is the position behind the last change.
func (l *Log) Size() int64 { return l.cut + int64(len(l.tail)) }

// Add appends changes.
func (l *Log) Add(of int, changes []Change) error {
	var b []byte
	for i := range changes {
		ch := &changes[i]
		b = binary.AppendUvarint(b[:0], uint64(of))
		b = append(binary.AppendUvarint(b, uint64(len(ch.id))), ch.id...)
		b = appendRow(appendRow(b, ch.Old), ch.New)
		l.tail = append(binary.AppendUvarint(l.tail, uint64(len(b))), b...)
		if len(l.tail) < logWrite || l.file == nil && len(l.tail) < logMemory {
			continue
		}
		if err := l.write(); err != nil {
			return err
		}
	}
	return nil
}

// appendRow appends the number of values plus one, and the values; 0 means no row.
func appendRow(b []byte, row types.Row) []byte {
	if row == nil {
		return append(b, 0)
	}
	return spool.AppendRow(binary.AppendUvarint(b, uint64(len(row)+1)), row)
}

// write moves what is in memory to the file.
func (l *Log) write() (err error) {
	if l.file == nil {
		if l.file, err = memory.TempFile(l.dir); err != nil {
			return spool.FileError(err)
		}
	}
	if _, err := l.file.WriteAt(l.tail, l.cut); err != nil {
		return spool.FileError(err)
	}
	l.cut += int64(len(l.tail))
	l.tail = nil // a reader may still use it
	return nil
}

// Truncate drops the changes after a position.
func (l *Log) Truncate(at int64) {
	if at >= l.cut {
		l.tail = l.tail[: at-l.cut : at-l.cut] // a reader may still use the rest
		return
	}
	l.tail, l.cut = nil, at // the file is overwritten
}

// Each calls fn with the changes between two positions, in batches with one number. More changes
// may be added meanwhile.
func (l *Log) Each(from, to int64, fn func(of int, changes []Change) error) error {
	var in io.Reader = bytes.NewReader(l.tail[max(0, from-l.cut):max(0, to-l.cut)])
	if from < l.cut {
		in = io.MultiReader(io.NewSectionReader(l.file, from, min(to, l.cut)-from), in)
	}
	r := bufio.NewReaderSize(in, spool.BufferSize)
	var batch []Change
	last := 0
	for {
		of, ch, err := readChange(r)
		if err != nil && err != io.EOF {
			return spool.FileError(err)
		}
		if len(batch) > 0 && (err == io.EOF || of != last || len(batch) == logBatch) {
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

// readChange returns a change in memory of its own, and io.EOF at the end.
func readChange(in *bufio.Reader) (of int, ch Change, err error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, ch, err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in, b); err != nil {
		return 0, ch, io.ErrUnexpectedEOF
	}
	r := spool.Record{B: b}
	of = int(r.Uvarint())
	ch.id = r.Text()
	ch.Old, ch.New = readRow(&r), readRow(&r)
	return of, ch, nil
}

// readRow reads the result of appendRow.
func readRow(r *spool.Record) types.Row {
	n := r.Uvarint()
	if n == 0 {
		return nil
	}
	row := make(types.Row, n-1)
	r.Row(row)
	return row
}

// Close closes the file.
func (l *Log) Close() {
	if l.file != nil {
		l.file.Close() // it has no name any more
	}
	*l = Log{dir: l.dir}
}
