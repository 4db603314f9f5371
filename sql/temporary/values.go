package temporary

import (
	"os"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
)

// place is where a value is: its first byte in the sequence of all values, and its length. A
// negative length means that there is no value.
type place struct {
	at int64
	n  int32
}

// none is the place of no value.
var none = place{n: -1}

func (p place) exists() bool { return p.n >= 0 }

// values is a sequence of bytes that is only appended to. Its end is in memory, what is before it in
// a file.
type values struct {
	tail  []byte
	base  int64    // of tail
	file  *os.File // nil: everything is in tail
	size  int      // that tail may have
	files *memory.Account
	dir   string
}

func (v *values) end() int64 { return v.base + int64(len(v.tail)) }

// append adds a value. It writes the tail to the file if the tail would become too long.
func (v *values) append(value []byte) (place, error) {
	if len(v.tail) > 0 && len(v.tail)+len(value) > v.size {
		if err := v.flush(); err != nil {
			return none, err
		}
	}
	p := place{v.end(), int32(len(value))}
	v.tail = append(v.tail, value...)
	return p, nil
}

// flush writes the tail to the file. Values that were read from the tail stay as they are.
func (v *values) flush() error {
	if v.file == nil {
		f, err := memory.TempFile(v.dir)
		if err != nil {
			return spool.FileError(err)
		}
		v.file = f
	}
	if err := v.files.GrowFiles(int64(len(v.tail))); err != nil {
		return err
	}
	if _, err := v.file.WriteAt(v.tail, v.base); err != nil {
		v.files.ReleaseFiles(int64(len(v.tail)))
		return spool.FileError(err)
	}
	v.base, v.tail = v.end(), make([]byte, 0, v.size)
	return nil
}

// inMemory returns a value that is in the tail.
func (v *values) inMemory(p place) ([]byte, bool) {
	if p.n == 0 {
		return []byte{}, true
	}
	if p.at < v.base {
		return nil, false
	}
	at := p.at - v.base
	return v.tail[at : at+int64(p.n) : at+int64(p.n)], true
}

// read returns a value. It is valid until buf is used again.
func (v *values) read(p place, buf []byte) ([]byte, error) {
	if b, ok := v.inMemory(p); ok {
		return b, nil
	}
	return readFile(v.file, p, buf)
}

func readFile(f *os.File, p place, buf []byte) ([]byte, error) {
	if cap(buf) < int(p.n) {
		buf = make([]byte, p.n, 2*int(p.n))
	}
	buf = buf[:p.n]
	if _, err := f.ReadAt(buf, p.at); err != nil {
		return nil, spool.FileError(err)
	}
	return buf, nil
}

// close removes the file.
func (v *values) close() {
	if v.file != nil {
		v.file.Close()
		v.files.ReleaseFiles(v.base)
	}
	v.tail, v.file, v.base = nil, nil, 0
}
