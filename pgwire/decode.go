package pgwire

import (
	"bytes"

	"github.com/jackc/pgproto3/v2"

	"github.com/sherddb/sherd/internal/pgerr"
)

// decode fills m from a message's body. pgproto3 panics on some bodies with wrong lengths (W3).
func decode(m pgproto3.FrontendMessage, body []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = malformed(body)
		}
	}()
	if err := m.Decode(body); err != nil || len(body) != decodedSize(m, len(body)) {
		return malformed(body)
	}
	return nil
}

// decodedSize returns the size of the body that m was decoded from, for the messages after which
// the library ignores further bytes; for others it returns n.
func decodedSize(m pgproto3.FrontendMessage, n int) int {
	switch m := m.(type) {
	case *pgproto3.Parse:
		return len(m.Name) + 1 + len(m.Query) + 1 + 2 + 4*len(m.ParameterOIDs)
	case *pgproto3.Execute:
		return len(m.Portal) + 1 + 4
	case *pgproto3.Bind:
		n = len(m.DestinationPortal) + 1 + len(m.PreparedStatement) +
			1 + 2 + 2*len(m.ParameterFormatCodes) + 2 + 4*len(m.Parameters) +
			2 + 2*len(m.ResultFormatCodes)
		for _, p := range m.Parameters {
			n += len(p)
		}
	}
	return n
}

// malformed returns the error as PostgreSQL phrases it; every message that is decoded contains a
// string.
func malformed(body []byte) error {
	if bytes.IndexByte(body, 0) < 0 {
		return pgerr.New(pgerr.ProtocolViolation, "invalid string in message")
	}
	return pgerr.New(pgerr.ProtocolViolation, "invalid message format")
}
