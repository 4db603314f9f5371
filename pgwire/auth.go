package pgwire

import (
	"bytes"
	"net"
	"net/netip"
	"slices"

	"github.com/jackc/pgproto3/v2"
	"github.com/xdg-go/scram"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/scramsecret"
)

// SASL mechanisms; the second binds the exchange to the TLS channel it is held in.
const (
	scramSHA256 = "SCRAM-SHA-256"
	scramPlus   = "SCRAM-SHA-256-PLUS"
)

// authenticate finds out whether the client is who it says. On a loopback address a role without password is let in; from
// elsewhere only TLS and a password will do, and a role that does not exist is asked for one like any other.
func (c *conn) authenticate(user string) error {
	verifier, exists := c.server.cfg.Authenticate(user)
	if isLocal(c.raw.RemoteAddr()) {
		if !exists {
			c.send(&pgproto3.AuthenticationOk{}) // nothing was asked for; the role is missed afterwards
			return fatal(pgerr.InvalidAuthorization, `role "%s" does not exist`, user)
		}
		if verifier == "" {
			return nil
		}
		return c.scram(user, verifier)
	}
	if c.net == c.raw {
		return fatal(pgerr.InvalidAuthorization, `connection from %s for user "%s" is not encrypted`, host(c.raw.RemoteAddr()), user).
			WithHint("Connect with sslmode=require; only loopback addresses may go without TLS.")
	}
	return c.scram(user, verifier)
}

// isLocal tells whether the client is on this machine.
func isLocal(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// host gives the address without its port.
func host(a net.Addr) string {
	if ap, err := netip.ParseAddrPort(a.String()); err == nil {
		return ap.Addr().String()
	}
	return a.String()
}

// scram holds the SCRAM-SHA-256 exchange. Where the role has no usable password it goes on with one that nobody knows, so that a
// client learns nothing of which roles exist.
func (c *conn) scram(user, verifier string) error {
	credentials, err := scramsecret.Parse(verifier)
	if err != nil {
		if verifier != "" {
			c.server.cfg.Log.Error("a role's password verifier is unreadable", "role", user, "error", err)
		}
		credentials = scramsecret.Mock(c.server.mockNonce[:], user)
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return credentials, nil })
	if err != nil {
		return err
	}
	conversation, mechanisms := server.NewConversation(), []string{scramSHA256}
	if c.binding != nil {
		conversation, mechanisms = server.NewConversationWithChannelBinding(*c.binding), []string{scramPlus, scramSHA256}
	}
	c.send(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms})
	first, err := c.saslInitial(mechanisms)
	if err != nil {
		return err
	}
	answer, err := conversation.Step(first)
	if err != nil {
		return fatal(pgerr.ProtocolViolation, "malformed SCRAM message").WithDetail("%s", err.Error())
	}
	c.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(answer)})
	final, err := c.saslMessage()
	if err != nil {
		return err
	}
	answer, err = conversation.Step(string(final))
	if err != nil || !conversation.Valid() {
		return fatal(pgerr.InvalidPassword, `password authentication failed for user "%s"`, user)
	}
	c.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(answer)})
	return nil
}

// saslInitial reads the client's choice of mechanism and its first SCRAM message.
func (c *conn) saslInitial(mechanisms []string) (string, error) {
	body, err := c.saslMessage()
	if err != nil {
		return "", err
	}
	var m pgproto3.SASLInitialResponse
	if err := decode(&m, body); err != nil {
		return "", fatal(pgerr.ProtocolViolation, "invalid message format")
	}
	if !slices.Contains(mechanisms, m.AuthMechanism) {
		return "", fatal(pgerr.ProtocolViolation, "client selected an invalid SASL authentication mechanism")
	}
	if bound := bytes.HasPrefix(m.Data, []byte("p=")); bound != (m.AuthMechanism == scramPlus) {
		return "", fatal(pgerr.ProtocolViolation, "malformed SCRAM message").
			WithDetail("The client selected %s, and its message says otherwise about channel binding.", m.AuthMechanism)
	}
	return string(m.Data), nil
}

// saslMessage flushes and reads one password message (W1).
func (c *conn) saslMessage() ([]byte, error) {
	if err := c.flush(); err != nil {
		return nil, err
	}
	if err := c.in.fill(5); err != nil {
		if c.in.buffered() == 0 {
			return nil, errTerminated // psql goes away to ask for the password and comes back
		}
		return nil, c.readError(err)
	}
	if typ := c.in.buf[c.in.r]; typ != 'p' {
		return nil, fatal(pgerr.ProtocolViolation, "expected SASL response, got message type %d", typ)
	}
	body, err := c.in.bounded(saslLimit)
	return body, c.readError(err)
}
