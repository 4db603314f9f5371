package pgwire

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/sherddb/sherd/internal/pgerr"
)

// PostgreSQL's own bounds on a message's length word (PQ_LARGE_MESSAGE_LIMIT,
// PQ_SMALL_MESSAGE_LIMIT).
const (
	largeMessage = 1<<30 - 2
	smallMessage = 10_000
)

// reader cuts a byte stream into messages. It reads into a small array of its own and borrows
// larger memory only for what does not fit there, until everything buffered has been consumed.
type reader struct {
	src   io.Reader
	pool  *chunks
	limit int // of a message, Config.MaxMessage

	buf   []byte // small[:] or big.b; buf[r:w] has arrived and is not consumed
	r, w  int
	big   *chunk
	small [smallSize]byte
}

func (r *reader) reset(src io.Reader, pool *chunks, limit int) {
	r.src, r.pool, r.limit = src, pool, limit
	r.buf, r.r, r.w = r.small[:], 0, 0
}

// buffered returns how many bytes have arrived and wait.
func (r *reader) buffered() int { return r.w - r.r }

// starts reports whether a message of a type has begun to arrive.
func (r *reader) starts(typ byte) bool { return r.r < r.w && r.buf[r.r] == typ }

// release returns borrowed memory when nothing is buffered.
func (r *reader) release() {
	if r.r != r.w {
		return
	}
	r.r, r.w = 0, 0
	if r.big != nil {
		r.big.b = r.buf[:0]
		r.pool.put(r.big)
		r.big, r.buf = nil, r.small[:]
	}
}

// header reads the type and the length of the next message's body. It checks PostgreSQL's limits:
// if a length exceeds one, the stream is out of step and the error is FATAL.
func (r *reader) header() (typ byte, n int, err error) {
	if err := r.fill(5); err != nil {
		return 0, 0, err
	}
	typ = r.buf[r.r]
	length := binary.BigEndian.Uint32(r.buf[r.r+1:])
	max, ok := messageLimit(typ)
	if !ok {
		return typ, 0, errMessageType
	}
	if length < 4 || length > max {
		return typ, 0, pgerr.Fatal(pgerr.ProtocolViolation, "invalid message length")
	}
	r.r += 5
	return typ, int(length) - 4, nil
}

// errMessageType is returned for a message type that no client sends after start-up. Each reader
// returns its own error for it.
var errMessageType = errors.New("pgwire: invalid message type")

// messageLimit returns the largest length word of a message type; false for types that no frontend
// sends after start-up.
func messageLimit(typ byte) (uint32, bool) {
	switch typ {
	case 'Q', 'F', 'B', 'P', 'd':
		return largeMessage, true
	case 'C', 'D', 'E', 'H', 'S', 'X', 'c':
		return smallMessage, true
	case 'f':
		return smallMessage, true
	}
	return 0, false
}

// tooLong is returned for a message that was skipped because of its size (W2). The stream is still
// in step.
type tooLong struct {
	typ byte
	err *pgerr.Error
}

func (e *tooLong) Error() string { return e.err.Error() }
func (e *tooLong) Unwrap() error { return e.err }

// message reads the next message. The body is valid until the next call.
func (r *reader) message() (typ byte, body []byte, err error) {
	typ, n, err := r.header()
	if err != nil {
		return typ, nil, err
	}
	if n > r.limit {
		if err := r.discard(n); err != nil {
			return typ, nil, err
		}
		return typ, nil, &tooLong{typ, pgerr.New(pgerr.ProgramLimitExceeded, "message of %d bytes is too large", n).
			WithDetail("The server accepts messages of at most %d bytes.", r.limit)}
	}
	if err := r.fill(n); err != nil {
		return typ, nil, unexpected(err)
	}
	body = r.buf[r.r : r.r+n : r.r+n]
	r.r += n
	return typ, body, nil
}

// fill waits until n bytes are buffered.
func (r *reader) fill(n int) error {
	for r.w-r.r < n {
		r.makeRoom(n)
		m, err := r.src.Read(r.buf[r.w:])
		r.w += m
		if err != nil && r.w-r.r < n {
			if err == io.EOF && r.w > r.r {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// makeRoom makes room for more bytes, up to n. Memory at most doubles each time it is full (W2).
func (r *reader) makeRoom(n int) {
	if r.r == r.w {
		r.r, r.w = 0, 0
	}
	if r.r+n <= len(r.buf) && r.w < len(r.buf) {
		return
	}
	held := r.buf[r.r:r.w]
	switch {
	case r.big == nil:
		r.big = r.pool.get()
		r.buf = r.big.b[:cap(r.big.b)]
	case len(held) == len(r.buf):
		size := min(2*len(r.buf), max(n, 2*chunkSize))
		r.buf = make([]byte, max(size, len(held)+1))
	}
	copy(r.buf, held) // moves down within the same memory too
	r.r, r.w = 0, len(held)
}

// discard skips n bytes of the stream.
func (r *reader) discard(n int) error {
	for n > 0 {
		if r.r == r.w {
			if err := r.fill(1); err != nil {
				return unexpected(err)
			}
		}
		m := min(n, r.w-r.r)
		r.r += m
		n -= m
	}
	return nil
}

// unexpected marks an end of the stream inside a message.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// bounded reads a message of any type, with a limit of its own. A larger message ends the
// connection.
func (r *reader) bounded(limit int) ([]byte, error) {
	if err := r.fill(5); err != nil {
		return nil, err
	}
	length := int64(binary.BigEndian.Uint32(r.buf[r.r+1:]))
	if length < 4 || length-4 > int64(limit) {
		return nil, pgerr.Fatal(pgerr.ProtocolViolation, "invalid message length")
	}
	n := int(length) - 4
	r.r += 5
	if err := r.fill(n); err != nil {
		return nil, unexpected(err)
	}
	body := r.buf[r.r : r.r+n : r.r+n]
	r.r += n
	return body, nil
}
