package pgwire

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"

	"github.com/jackc/pgproto3/v2"
	"github.com/xdg-go/scram"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/scramsecret"
)

// SASL mechanisms. The second binds the exchange to the TLS channel that carries it.
const (
	scramSHA256 = "SCRAM-SHA-256"
	scramPlus   = "SCRAM-SHA-256-PLUS"
)

// authenticate checks that the client is the role that it names. A client on a loopback address
// needs no password if the role has none; any other client needs TLS and a password. A client that
// names a role that does not exist is asked for a password as well (scram).
func (c *conn) authenticate(user string) error {
	verifier, exists := c.server.cfg.Authenticate(user)
	if isLocal(c.raw.RemoteAddr()) {
		if exists && verifier == "" {
			return nil
		}
		return c.scram(user, verifier, exists)
	}
	if c.net == c.raw {
		return pgerr.Fatal(
			pgerr.InvalidAuthorization, `connection from %s for user "%s" is not encrypted`, host(c.raw.RemoteAddr()),
			user,
		).
			WithHint("Connect with sslmode=require; only loopback addresses may go without TLS.")
	}
	return c.scram(user, verifier, exists)
}

// isLocal reports whether the client is on this machine.
func isLocal(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// host returns the address without its port.
func host(a net.Addr) string {
	if ap, err := netip.ParseAddrPort(a.String()); err == nil {
		return ap.Addr().String()
	}
	return a.String()
}

// scram runs the SCRAM-SHA-256 exchange. If the role has no usable password, it continues with
// credentials that no password matches, so that a client cannot learn which roles exist: messages,
// errors and time are those of a wrong password. The log has the reason.
func (c *conn) scram(user, verifier string, exists bool) error {
	credentials, err := scramsecret.Parse(verifier)
	reason := "wrong password"
	if err != nil {
		reason = "the role has no password"
		switch {
		case !exists:
			reason = "the role does not exist"
		case verifier != "":
			c.server.cfg.Log.Error("a role's password verifier is unreadable", "role", user, "error", err)
		}
		credentials = scramsecret.Mock(c.server.mockNonce[:], user)
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return credentials, nil })
	if err != nil {
		return err
	}
	mechanisms := []string{scramSHA256}
	if c.binding != nil {
		mechanisms = []string{scramPlus, scramSHA256}
	}
	c.send(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms})
	mechanism, first, err := c.saslInitial(mechanisms)
	if err != nil {
		return err
	}
	flag, err := checkClientFirst(first, c.binding, mechanism == scramPlus)
	if err != nil {
		return err
	}
	conversation := server.NewConversation()
	if c.binding != nil {
		conversation = server.NewConversationWithChannelBinding(*c.binding)
	}
	challenge, err := conversation.Step(string(first))
	if err != nil {
		return malformedScram("%s", err.Error())
	}
	c.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(challenge)})
	final, err := c.saslMessage()
	if err != nil {
		return err
	}
	if err := checkClientFinal(final, challenge, flag); err != nil {
		return err
	}
	signature, err := conversation.Step(string(final))
	if err != nil || !conversation.Valid() {
		c.server.cfg.Log.Info(
			"password authentication failed", "role", user, "client", remoteName(c.raw.RemoteAddr()), "reason", reason,
		)
		return pgerr.Fatal(pgerr.InvalidPassword, `password authentication failed for user "%s"`, user)
	}
	c.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(signature)})
	return nil
}

// saslInitial reads the client's choice of mechanism and its first SCRAM message. A client that
// sends no message with its choice gets an empty challenge first.
func (c *conn) saslInitial(mechanisms []string) (mechanism string, first []byte, err error) {
	body, err := c.saslMessage()
	if err != nil {
		return "", nil, err
	}
	name, rest, ok := bytes.Cut(body, []byte{0})
	if !ok {
		return "", nil, pgerr.Fatal(pgerr.ProtocolViolation, "invalid string in message")
	}
	if !slices.Contains(mechanisms, string(name)) {
		return "", nil, pgerr.Fatal(pgerr.ProtocolViolation, "client selected an invalid SASL authentication mechanism")
	}
	mechanism = string(name)
	if len(rest) < 4 {
		return "", nil, pgerr.Fatal(pgerr.ProtocolViolation, "insufficient data left in message")
	}
	n, rest := int32(binary.BigEndian.Uint32(rest)), rest[4:]
	switch {
	case n == -1 && len(rest) == 0:
		c.send(&pgproto3.AuthenticationSASLContinue{})
		first, err = c.saslMessage()
		return mechanism, first, err
	case n < 0 || int(n) > len(rest):
		return "", nil, pgerr.Fatal(pgerr.ProtocolViolation, "insufficient data left in message")
	case int(n) < len(rest):
		return "", nil, pgerr.Fatal(pgerr.ProtocolViolation, "invalid message format")
	}
	return mechanism, rest, nil
}

// saslMessage flushes and reads one password message (W1).
func (c *conn) saslMessage() ([]byte, error) {
	if err := c.flush(); err != nil {
		return nil, err
	}
	if err := c.in.fill(5); err != nil {
		if c.in.buffered() == 0 {
			return nil, errTerminated // psql disconnects to ask for the password, and connects again
		}
		return nil, c.readError(err)
	}
	if typ := c.in.buf[c.in.r]; typ != 'p' {
		return nil, pgerr.Fatal(pgerr.ProtocolViolation, "expected SASL response, got message type %d", typ)
	}
	body, err := c.in.bounded(saslLimit)
	return body, c.readError(err)
}
