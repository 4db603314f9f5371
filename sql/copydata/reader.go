package copydata

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Field is a field of a record: its bytes, or null. Quoted tells a csv field that stood in quotes.
type Field struct {
	Bytes  []byte
	Null   bool
	Quoted bool
}

// maxRecord bounds a record's bytes, as PostgreSQL's 1 GB; a smaller bound protects the node.
const maxRecord = 256 << 20

// Reader reads records from a stream of chunks.
type Reader struct {
	opts   Options
	next   func() ([]byte, error) // io.EOF at the end
	buf    []byte
	pos    int
	ended  bool
	done   bool
	line   int64
	raw    []byte // the line read last, in buf; valid until the next Read
	fields []Field
	arena  []byte
	header bool
	binary bool // the binary header has been read
}

// NewReader reads what next returns.
func NewReader(opts Options, next func() ([]byte, error)) *Reader {
	return &Reader{opts: opts, next: next}
}

// Line is the number of the line read last, from 1; of a csv record of several lines it is the last
// one, as in PostgreSQL.
func (r *Reader) Line() int64 { return r.line }

// Raw is the line read last as it came, for messages; nil for the binary format. It is valid until
// the next Read.
func (r *Reader) Raw() []byte { return r.raw }

// fill reads another chunk behind what is left.
func (r *Reader) fill() error {
	if r.ended {
		return io.EOF
	}
	chunk, err := r.next()
	if errors.Is(err, io.EOF) {
		r.ended = true
		return io.EOF
	}
	if err != nil {
		return err
	}
	if r.pos > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[r.pos:])]
		r.pos = 0
	}
	r.buf = append(r.buf, chunk...)
	if len(r.buf) > maxRecord+len(chunk) {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a record of COPY data is larger than %d bytes", maxRecord)
	}
	return nil
}

// Read returns the fields of the next record, valid until the next call; io.EOF at the end.
func (r *Reader) Read() ([]Field, error) {
	if r.done {
		return nil, io.EOF
	}
	if r.opts.Format == Binary {
		return r.readBinary()
	}
	if r.opts.Header && !r.header {
		r.header = true
		fields, err := r.record()
		if err != nil || r.opts.MatchNames {
			return fields, err
		}
	}
	return r.record()
}

func (r *Reader) record() ([]Field, error) {
	line, err := r.readLine()
	if err != nil {
		return nil, err
	}
	r.fields, r.arena = r.fields[:0], r.arena[:0]
	if cap(r.arena) < len(line) {
		r.arena = make([]byte, 0, 2*len(line))
	}
	if r.opts.Format == CSV {
		return r.fields, r.splitCSV(line)
	}
	r.splitText(line)
	return r.fields, nil
}

// readLine returns the next line without its end; \. alone ends the data.
func (r *Reader) readLine() ([]byte, error) {
	end, skip, err := r.lineEnd()
	if err != nil {
		return nil, err
	}
	line := r.buf[r.pos:end]
	r.raw = line
	r.pos = end + skip
	r.line++
	if r.opts.Format == CSV { // newlines in quotes count
		r.line += int64(max(bytes.Count(line, []byte{'\n'}), bytes.Count(line, []byte{'\r'})))
	}
	if len(line) == 2 && line[0] == '\\' && line[1] == '.' {
		r.done = true
		return nil, r.drain()
	}
	return line, nil
}

// drain reads and discards what follows the end mark.
func (r *Reader) drain() error {
	for !r.ended {
		r.pos = len(r.buf)
		if err := r.fill(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return io.EOF
}

// lineEnd finds the end of the line: in csv, newlines in quotes are part of it.
func (r *Reader) lineEnd() (end, skip int, err error) {
	from, quoted := 0, false
	for {
		b, i := r.buf[r.pos:], -1
		if r.opts.Format == Text {
			i, from = textLineEnd(b, from)
		} else {
			i, from, quoted = r.csvLineEnd(b, from, quoted)
		}
		if i >= 0 {
			return r.lineAt(r.pos + i)
		}
		if err := r.fill(); errors.Is(err, io.EOF) {
			if len(r.buf) == r.pos {
				return 0, 0, io.EOF
			}
			if quoted {
				return 0, 0, pgerr.New(pgerr.BadCopyFileFormat, "unterminated CSV quoted field")
			}
			return len(r.buf), 0, nil
		} else if err != nil {
			return 0, 0, err
		}
	}
}

// lineAt returns the end and what to skip for a line end at position i; a carriage return needs the
// byte behind it.
func (r *Reader) lineAt(i int) (end, skip int, err error) {
	if r.buf[i] == '\n' {
		return i, 1, nil
	}
	rel := i - r.pos
	for i+1 == len(r.buf) {
		if err := r.fill(); errors.Is(err, io.EOF) {
			return r.pos + rel, 1, nil
		} else if err != nil {
			return 0, 0, err
		}
		i = r.pos + rel
	}
	if r.buf[i+1] == '\n' {
		return i, 2, nil
	}
	return i, 1, nil
}

// textLineEnd finds an unescaped newline or carriage return at or after from, -1 if there is none;
// then next is where to go on when there is more: before a backslash that escapes what comes.
func textLineEnd(b []byte, from int) (at, next int) {
	i := from
	for ; i < len(b); i++ {
		switch b[i] {
		case '\\':
			if i+1 == len(b) {
				return -1, i
			}
			i++
		case '\n', '\r':
			return i, i
		}
	}
	return -1, i
}

// csvLineEnd is textLineEnd for csv, where newlines in quotes do not count.
func (r *Reader) csvLineEnd(b []byte, from int, quoted bool) (at, next int, stillQuoted bool) {
	i := from
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == r.opts.Escape && c != r.opts.Quote:
			if i+1 == len(b) {
				return -1, i, quoted
			}
			i++
		case c == r.opts.Quote:
			quoted = !quoted
		case !quoted && (c == '\n' || c == '\r'):
			return i, i, false
		}
	}
	return -1, i, quoted
}

// splitText splits and unescapes a line of the text format.
func (r *Reader) splitText(line []byte) {
	null := r.opts.Null
	for {
		end, escaped := fieldEnd(line, r.opts.Delimiter)
		raw := line[:end]
		switch {
		case string(raw) == null:
			r.fields = append(r.fields, Field{Null: true})
		case !escaped:
			r.fields = append(r.fields, Field{Bytes: raw})
		default:
			r.fields = append(r.fields, Field{Bytes: r.unescape(raw)})
		}
		if end == len(line) {
			return
		}
		line = line[end+1:]
	}
}

func fieldEnd(line []byte, delimiter byte) (end int, escaped bool) {
	if i := bytes.IndexByte(line, delimiter); bytes.IndexByte(line, '\\') < 0 {
		if i < 0 {
			return len(line), false
		}
		return i, false
	}
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			escaped = true
			i++
		case delimiter:
			return i, escaped
		}
	}
	return len(line), escaped
}

// unescape undoes the backslash sequences of the text format.
func (r *Reader) unescape(raw []byte) []byte {
	start := len(r.arena)
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' || i+1 == len(raw) {
			r.arena = append(r.arena, c)
			continue
		}
		i++
		c = raw[i]
		if k := strings.IndexByte("bfnrtv", c); k >= 0 {
			r.arena = append(r.arena, "\b\f\n\r\t\v"[k])
			continue
		}
		n := digits(raw[i:])
		switch {
		case n > 0:
			r.arena = append(r.arena, octal(raw[i:i+n]))
			i += n - 1
		case c == 'x' && hexDigits(raw[i+1:]) > 0:
			n = hexDigits(raw[i+1:])
			r.arena = append(r.arena, hexByte(raw[i+1:i+1+n]))
			i += n
		default:
			r.arena = append(r.arena, c)
		}
	}
	return r.arena[start:len(r.arena):len(r.arena)]
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && n < 3 && b[n] >= '0' && b[n] <= '7' {
		n++
	}
	return n
}

func octal(b []byte) byte {
	v := 0
	for _, c := range b {
		v = v*8 + int(c-'0')
	}
	return byte(v)
}

func hexDigits(b []byte) int {
	n := 0
	for n < len(b) && n < 2 && strings.IndexByte("0123456789abcdefABCDEF", b[n]) >= 0 {
		n++
	}
	return n
}

func hexByte(b []byte) byte {
	v := 0
	for _, c := range b {
		v = v*16 + strings.IndexByte("0123456789abcdef", c|0x20)
	}
	return byte(v)
}

// splitCSV splits a record of the csv format.
func (r *Reader) splitCSV(line []byte) error {
	quote, escape := r.opts.Quote, r.opts.Escape
	for i := 0; ; {
		start, quoted, in := len(r.arena), false, false
		for ; i < len(line); i++ {
			c := line[i]
			switch {
			case in && c == escape && i+1 < len(line) && (line[i+1] == quote || line[i+1] == escape && escape != quote):
				i++
				r.arena = append(r.arena, line[i])
				continue
			case c == quote:
				in, quoted = !in, true
				continue
			case !in && c == r.opts.Delimiter:
			default:
				r.arena = append(r.arena, c)
				continue
			}
			break
		}
		if in {
			return pgerr.New(pgerr.BadCopyFileFormat, "unterminated CSV quoted field")
		}
		value := r.arena[start:len(r.arena):len(r.arena)]
		f := Field{Bytes: value, Quoted: quoted}
		if !quoted && string(value) == r.opts.Null {
			f = Field{Null: true}
		}
		r.fields = append(r.fields, f)
		if i >= len(line) {
			return nil
		}
		i++
		if i == len(line) { // a delimiter at the end: one more, empty field
			f := Field{Bytes: []byte{}}
			if r.opts.Null == "" {
				f = Field{Null: true}
			}
			r.fields = append(r.fields, f)
			return nil
		}
	}
}
