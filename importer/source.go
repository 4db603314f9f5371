package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
)

// maxLine bounds a line of input; a longer one is a bad line.
const maxLine = 64 << 20

// source reads the lines of one file.
type source struct {
	name   string // as given, for messages
	key    string // absolute path, under which progress is kept; "" for standard input
	size   int64  // bytes of the file; 0 where unknown
	closer io.Closer
	lines  *bufio.Reader
	read   atomic.Int64 // bytes of the file that were read, before decompression
	line   int64        // lines returned so far
}

// countingReader counts what is taken from the file beneath.
type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// openSource opens a file, "-" for standard input; gzip is seen from the first bytes.
func openSource(name string) (*source, error) {
	s := &source{name: name}
	f := os.Stdin
	if name != "-" {
		var err error
		if f, err = os.Open(name); err != nil {
			return nil, err
		}
		s.closer = f
		if s.key, err = filepath.Abs(name); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		st, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if st.IsDir() {
			return nil, errors.Join(fmt.Errorf("%s is a directory", name), f.Close())
		}
		if st.Mode().IsRegular() {
			s.size = st.Size()
		}
	} else {
		s.name = "standard input"
	}
	raw := bufio.NewReaderSize(countingReader{f, &s.read}, 1<<18)
	s.lines = raw
	if magic, _ := raw.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), s.close())
		}
		s.lines = bufio.NewReaderSize(z, 1<<18)
	}
	return s, nil
}

func (s *source) close() error {
	if s.closer == nil {
		return nil
	}
	return s.closer.Close()
}

var errLineTooLong = fmt.Errorf("the line is longer than %d MB", maxLine>>20)

// next returns the next line without its end, in memory of its own. io.EOF ends the file;
// errLineTooLong is an error of that line alone.
func (s *source) next() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := s.lines.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
		}
		if len(line) > maxLine {
			tooLong, line = true, line[:100]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			if errors.Is(err, io.EOF) {
				return nil, io.EOF
			}
			return nil, fmt.Errorf("%s: after line %d: %w", s.name, s.line, err)
		}
		s.line++
		if tooLong {
			return line, errLineTooLong
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// skipTo passes over lines that an earlier run has dealt with.
func (s *source) skipTo(line int64) error {
	for s.line < line {
		_, err := s.next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf(
				"%s ends at line %d, the earlier import had come to line %d: the file has changed", s.name, s.line,
				line,
			)
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			return err
		}
	}
	return nil
}
