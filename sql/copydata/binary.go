package copydata

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/sherddb/sherd/internal/pgerr"
)

// signature begins binary COPY data.
const signature = "PGCOPY\n\xff\r\n\x00"

// take returns the next n bytes, valid until the next call.
func (r *Reader) take(n int) ([]byte, error) {
	if n > maxRecord {
		return nil, pgerr.New(pgerr.BadCopyFileFormat, "field of %d bytes is too large", n)
	}
	for len(r.buf)-r.pos < n {
		if err := r.fill(); errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		} else if err != nil {
			return nil, err
		}
	}
	r.pos += n
	return r.buf[r.pos-n : r.pos], nil
}

func (r *Reader) readBinaryHeader() error {
	sig, err := r.take(len(signature))
	if err != nil || string(sig) != signature {
		return pgerr.New(pgerr.BadCopyFileFormat, "COPY file signature not recognized")
	}
	flags, err := r.take(4)
	if err != nil {
		return pgerr.New(pgerr.BadCopyFileFormat, "invalid COPY file header (missing flags)")
	}
	if f := binary.BigEndian.Uint32(flags); f&0xffff0000 != 0 {
		return pgerr.New(pgerr.BadCopyFileFormat, "unrecognized critical flags in COPY file header")
	}
	size, err := r.take(4)
	if err != nil {
		return pgerr.New(pgerr.BadCopyFileFormat, "invalid COPY file header (missing length)")
	}
	n := int32(binary.BigEndian.Uint32(size))
	if n < 0 {
		return pgerr.New(pgerr.BadCopyFileFormat, "invalid COPY file header (wrong length)")
	}
	_, err = r.take(int(n))
	return err
}

func (r *Reader) readBinary() ([]Field, error) {
	if !r.binary {
		r.binary = true
		if err := r.readBinaryHeader(); err != nil {
			return nil, err
		}
	}
	head, err := r.take(2)
	if errors.Is(err, io.ErrUnexpectedEOF) && len(r.buf) == r.pos {
		return nil, io.EOF // data without a trailer, as PostgreSQL accepts it
	}
	if err != nil {
		return nil, unexpectedEOF(err)
	}
	n := int16(binary.BigEndian.Uint16(head))
	r.line++
	if n == -1 {
		r.done = true
		return nil, r.drain()
	}
	r.fields, r.arena = r.fields[:0], r.arena[:0]
	for range int(n) {
		if err := r.binaryField(); err != nil {
			return nil, unexpectedEOF(err)
		}
	}
	return r.fields, nil
}

func (r *Reader) binaryField() error {
	head, err := r.take(4)
	if err != nil {
		return err
	}
	size := int32(binary.BigEndian.Uint32(head))
	switch {
	case size == -1:
		r.fields = append(r.fields, Field{Null: true})
		return nil
	case size < 0:
		return pgerr.New(pgerr.BadCopyFileFormat, "invalid field size")
	}
	b, err := r.take(int(size))
	if err != nil {
		return err
	}
	r.fields = append(r.fields, Field{Bytes: append([]byte(nil), b...)})
	return nil
}

func unexpectedEOF(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return pgerr.New(pgerr.BadCopyFileFormat, "unexpected EOF in COPY data")
	}
	return err
}
