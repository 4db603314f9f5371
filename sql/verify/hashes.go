package verify

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// hashed is the hash of a key, assumed to be unique.
type hashed [16]byte

const (
	// parts in which hashes are processed, so that only one part of many hashes is in memory
	hashParts  = 64
	hashMemory = 32 << 10 // bytes of a part that are buffered before they are written
)

// hashes is a set of hashes. Above a limit, they are stored in files.
type hashes struct {
	base  string // prefix of the files' names
	parts [hashParts]struct {
		mem  []byte
		file *os.File
	}
}

func (h *hashes) add(x hashed) error {
	n := int(x[0]) % hashParts
	p := &h.parts[n]
	if p.mem = append(p.mem, x[:]...); len(p.mem) < hashMemory {
		return nil
	}
	if p.file == nil {
		f, err := os.Create(h.base + "-" + strconv.Itoa(n))
		if err != nil {
			return err
		}
		p.file = f
	}
	_, err := p.file.Write(p.mem)
	p.mem = p.mem[:0]
	return err
}

// each calls fn with the hashes of a part.
func (h *hashes) each(part int, fn func(hashed)) error {
	p := &h.parts[part]
	list := p.mem
	if p.file != nil {
		written, err := io.ReadAll(io.NewSectionReader(p.file, 0, 1<<62))
		if err != nil {
			return err
		}
		list = append(written, list...)
	}
	for ; len(list) >= len(hashed{}); list = list[len(hashed{}):] {
		fn(hashed(list))
	}
	return nil
}

// close deletes the files.
func (h *hashes) close() (err error) {
	for i := range h.parts {
		if f := h.parts[i].file; f != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}
	return err
}

func newHashes(dir, name string) *hashes { return &hashes{base: filepath.Join(dir, name)} }
