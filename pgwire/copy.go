package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/jackc/pgproto3/v2"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// CopyIn asks the client for data.
func (r *results) CopyIn(f stmt.CopyFormat) (stmt.CopyReader, error) {
	overall, codes := copyFormats(f)
	r.c.send(&pgproto3.CopyInResponse{OverallFormat: overall, ColumnFormatCodes: codes})
	if err := r.c.flush(); err != nil {
		return nil, err
	}
	r.copy = copyReader{c: r.c}
	return &r.copy, nil
}

// CopyOut starts sending data.
func (r *results) CopyOut(f stmt.CopyFormat) error {
	overall, codes := copyFormats(f)
	r.c.send(&pgproto3.CopyOutResponse{OverallFormat: overall, ColumnFormatCodes: codes})
	return r.c.lost
}

func copyFormats(f stmt.CopyFormat) (overall byte, codes []uint16) {
	codes = make([]uint16, f.Columns)
	if !f.Binary {
		return formatText, codes
	}
	for i := range codes {
		codes[i] = formatBinary
	}
	return formatBinary, codes
}

// CopyData sends one piece of data, usually a row.
func (r *results) CopyData(data []byte) error {
	if r.c.lost != nil {
		return r.c.lost
	}
	if len(data) > largeMessage-4 {
		return pgerr.New(pgerr.ProgramLimitExceeded, "row of %d bytes is too large to be sent", len(data))
	}
	out := r.c.output()
	b := append(out.b, 'd')
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)+4))
	out.b = append(b, data...)
	return r.full()
}

// CopyOutDone ends the data.
func (r *results) CopyOutDone() error {
	r.c.send(&pgproto3.CopyDone{})
	return r.c.lost
}

// copyReader reads the client's CopyData messages. After an error or the end it returns the same
// again.
type copyReader struct {
	c    *conn
	done error
}

// Next returns the payload of the next CopyData message.
func (r *copyReader) Next(ctx context.Context) ([]byte, error) {
	if r.done != nil {
		return nil, r.done
	}
	data, err := r.read(ctx)
	if err != nil {
		r.done = err
	}
	return data, err
}

func (r *copyReader) read(ctx context.Context) ([]byte, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		typ, body, err := r.c.in.message()
		if errors.Is(err, errMessageType) {
			return nil, r.unexpected(typ)
		}
		if err != nil {
			return nil, r.failure(err)
		}
		switch typ {
		case 'd':
			return body, nil
		case 'c':
			return nil, io.EOF
		case 'f':
			return nil, copyFailed(body)
		case 'H', 'S':
			// Clients send these without having noticed that the statement was a COPY.
		default:
			return nil, r.unexpected(typ)
		}
	}
}

// unexpected fails the COPY and ends the connection: the server cannot know what such a message
// means.
func (r *copyReader) unexpected(typ byte) error {
	r.c.desync = true
	return pgerr.New(pgerr.ProtocolViolation, "unexpected message type 0x%02X during COPY from stdin", typ)
}

// failure returns the client's error for an error of reading: a lost connection, a message that is
// too large, or an invalid frame.
func (r *copyReader) failure(err error) error {
	if err = r.c.readError(err); r.c.lost != nil {
		return pgerr.Fatal(pgerr.ConnectionFailure, "unexpected EOF on client connection with an open transaction")
	}
	return pgerr.From(err)
}

// copyFailed returns the error that CopyFail asks for.
func copyFailed(body []byte) error {
	var m pgproto3.CopyFail
	if err := decode(&m, body); err != nil {
		return err
	}
	if err := types.ValidateText(m.Message); err != nil {
		return err
	}
	return pgerr.New(pgerr.QueryCanceled, "COPY from stdin failed: %s", m.Message)
}
