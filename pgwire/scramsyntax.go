package pgwire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/xdg-go/scram"

	"github.com/sherddb/sherd/internal/pgerr"
)

// scramMessage checks the form of a SCRAM message (RFC 5802, section 7) before the library reads
// it, with PostgreSQL's errors. The library expects well-behaved clients: it accepts some messages
// that PostgreSQL refuses, and reports the others as wrong passwords.
type scramMessage struct {
	rest []byte
}

// Lengths in bytes.
const scramKeySize = 32 // of SHA-256

// newScramMessage refuses an empty message and one with a NUL.
func newScramMessage(b []byte) (*scramMessage, error) {
	if len(b) == 0 {
		return nil, malformedScram("The message is empty.")
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, malformedScram("Message length does not match input length.")
	}
	return &scramMessage{b}, nil
}

// checkClientFirst checks a client-first-message and returns its channel-binding flag: 'n', 'y' or
// 'p'. binding is the channel binding of the connection, nil without TLS; plus reports whether the
// client selected the mechanism that uses it.
func checkClientFirst(b []byte, binding *scram.ChannelBinding, plus bool) (flag byte, err error) {
	m, err := newScramMessage(b)
	if err != nil {
		return 0, err
	}
	flag = m.peek()
	if err := m.bindingFlag(binding != nil, plus); err != nil {
		return 0, err
	}
	switch m.peek() {
	case 'a':
		return 0, pgerr.Fatal(pgerr.FeatureNotSupported, "client uses authorization identity, but it is not supported")
	case ',':
		m.rest = m.rest[1:]
	default:
		return 0, malformedScram("Unexpected attribute \"%s\" in client-first-message.", m.found())
	}
	if m.peek() == 'm' {
		return 0, pgerr.Fatal(pgerr.FeatureNotSupported, "client requires an unsupported SCRAM extension")
	}
	if _, err := m.attribute('n'); err != nil { // the start-up packet named the role
		return 0, err
	}
	nonce, err := m.attribute('r')
	if err != nil {
		return 0, err
	}
	for _, c := range nonce {
		if c < 0x21 || c > 0x7e {
			return 0, pgerr.Fatal(pgerr.ProtocolViolation, "non-printable characters in SCRAM nonce")
		}
	}
	for len(m.rest) > 0 { // extensions that the client does not insist on
		if _, _, err := m.anyAttribute(); err != nil {
			return 0, err
		}
	}
	return flag, nil
}

// bindingFlag checks the channel-binding flag and the comma after it.
func (m *scramMessage) bindingFlag(offered, plus bool) error {
	flag := m.peek()
	switch {
	case flag != 'n' && flag != 'y' && flag != 'p':
		return malformedScram("Unexpected channel-binding flag \"%s\".", m.found())
	case plus && flag != 'p':
		return malformedScram(
			"The client selected %s, but the SCRAM message does not include channel binding data.", scramPlus,
		)
	case !plus && flag == 'p':
		return malformedScram("The client selected %s without channel binding, "+
			"but the SCRAM message includes channel binding data.",
			scramSHA256)
	case flag == 'p':
		name, err := m.attribute('p')
		if err != nil {
			return err
		}
		if string(name) != string(scram.ChannelBindingTLSServerEndpoint) {
			return pgerr.Fatal(
				pgerr.ProtocolViolation, "unsupported SCRAM channel-binding type \"%s\"", clean(string(name)),
			)
		}
		return nil
	case flag == 'y' && offered:
		return pgerr.Fatal(pgerr.InvalidAuthorization, "SCRAM channel binding negotiation error").
			WithDetail("The client supports SCRAM channel binding but thinks the server does not.  " +
				"However, this server does support channel binding.")
	}
	m.rest = m.rest[1:]
	if m.peek() != ',' {
		return malformedScram("Comma expected, but found character \"%s\".", m.found())
	}
	m.rest = m.rest[1:]
	return nil
}

// checkClientFinal checks a client-final-message that answers serverFirst; flag is that of the
// client-first-message. The library checks the data of a channel binding.
func checkClientFinal(b []byte, serverFirst string, flag byte) error {
	m, err := newScramMessage(b)
	if err != nil {
		return err
	}
	binding, err := m.attribute('c')
	if err != nil {
		return err
	}
	if flag != 'p' && string(binding) != base64.StdEncoding.EncodeToString([]byte{flag, ',', ','}) {
		return pgerr.Fatal(
			pgerr.ProtocolViolation, "unexpected SCRAM channel-binding attribute in client-final-message",
		)
	}
	nonce, err := m.attribute('r')
	if err != nil {
		return err
	}
	name, value := byte(0), []byte(nil)
	for name != 'p' {
		if name, value, err = m.anyAttribute(); err != nil {
			return err
		}
	}
	if proof, err := base64.StdEncoding.DecodeString(string(value)); err != nil || len(proof) != scramKeySize {
		return malformedScram("Malformed proof in client-final-message.")
	}
	if len(m.rest) > 0 {
		return malformedScram("Garbage found at the end of client-final-message.")
	}
	if !strings.HasPrefix(serverFirst, "r="+string(nonce)+",") {
		return pgerr.Fatal(pgerr.ProtocolViolation, "invalid SCRAM response").WithDetail("Nonce does not match.")
	}
	return nil
}

// peek returns the next byte, 0 at the end.
func (m *scramMessage) peek() byte {
	if len(m.rest) == 0 {
		return 0
	}
	return m.rest[0]
}

// found returns the next byte as errors quote it.
func (m *scramMessage) found() string {
	if c := m.peek(); c >= 0x21 && c <= 0x7e {
		return fmt.Sprintf("'%c'", c)
	}
	return fmt.Sprintf("0x%02x", m.peek())
}

// attribute reads the attribute with the given name and returns its value.
func (m *scramMessage) attribute(name byte) ([]byte, error) {
	if m.peek() != name {
		return nil, malformedScram("Expected attribute \"%c\" but found \"%s\".", name, m.found())
	}
	return m.value(name)
}

// anyAttribute reads the next attribute, whatever its name.
func (m *scramMessage) anyAttribute() (name byte, value []byte, err error) {
	if len(m.rest) == 0 {
		return 0, nil, malformedScram("Attribute expected, but found end of string.")
	}
	name = m.peek()
	if lower := name | 0x20; lower < 'a' || lower > 'z' {
		return 0, nil, malformedScram("Attribute expected, but found invalid character \"%s\".", m.found())
	}
	value, err = m.value(name)
	return name, value, err
}

// value reads "=value" after the name of an attribute, and the comma behind it.
func (m *scramMessage) value(name byte) ([]byte, error) {
	m.rest = m.rest[1:]
	if m.peek() != '=' {
		return nil, malformedScram("Expected character \"=\" for attribute \"%c\".", name)
	}
	value, rest, _ := bytes.Cut(m.rest[1:], []byte(","))
	m.rest = rest
	return value, nil
}

func malformedScram(format string, args ...any) error {
	return pgerr.Fatal(pgerr.ProtocolViolation, "malformed SCRAM message").WithDetail(format, args...)
}
