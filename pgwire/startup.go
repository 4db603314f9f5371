package pgwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sort"
	"strings"
	"time"

	"github.com/jackc/pgproto3/v2"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/types"
)

// Codes that a start-up packet may open with in place of a protocol version.
const (
	cancelCode     = 1234<<16 | 5678
	sslCode        = 1234<<16 | 5679
	gssCode        = 1234<<16 | 5680
	protocol3      = 3 << 16
	optionPrefix   = "_pq_." // protocol options; none is known yet
	cancelBodySize = 12
)

// startup brings the connection from its first byte to the first ReadyForQuery.
func (c *conn) startup(ctx context.Context) error {
	_ = c.raw.SetDeadline(deadline(ctx))
	params, err := c.startupMessage(ctx)
	if err != nil {
		return err
	}
	if c.refusal != nil {
		return c.refusal
	}
	p, err := c.sessionParams(params)
	if err != nil {
		return err
	}
	if err := c.authenticate(p.User); err != nil {
		return err
	}
	c.send(&pgproto3.AuthenticationOk{})
	opened, err := c.server.cfg.NewSession(ctx, p)
	if err != nil {
		return clientError(ctx, err)
	}
	c.session = opened
	for _, kv := range opened.ReportedParameters() {
		c.send(&pgproto3.ParameterStatus{Name: kv[0], Value: kv[1]})
	}
	c.send(&pgproto3.BackendKeyData{ProcessID: c.pid, SecretKey: c.secret})
	c.ready()
	if err := c.flush(); err != nil {
		return err
	}
	c.endDeadline()
	return nil
}

func deadline(ctx context.Context) time.Time {
	t, _ := ctx.Deadline()
	return t
}

// endDeadline lifts the time limit of start-up, unless the connection was killed meanwhile.
func (c *conn) endDeadline() {
	c.intr.mu.Lock()
	defer c.intr.mu.Unlock()
	if c.intr.killed == nil {
		_ = c.raw.SetDeadline(time.Time{})
	}
}

// startupMessage answers requests until the StartupMessage and returns its parameters.
func (c *conn) startupMessage(ctx context.Context) (map[string]string, error) {
	var askedSSL, askedGSS bool
	for {
		code, body, err := c.startupPacket()
		if err != nil {
			return nil, err
		}
		switch {
		case code == cancelCode:
			if len(body) == cancelBodySize {
				c.server.cancelAnywhere(binary.BigEndian.Uint32(body[4:]), binary.BigEndian.Uint32(body[8:]))
			}
			return nil, errTerminated
		case code == sslCode && !askedSSL:
			askedSSL = true
			if err := c.negotiateTLS(ctx); err != nil {
				return nil, err
			}
		case code == gssCode && !askedGSS:
			askedGSS = true
			if _, err := c.net.Write([]byte{'N'}); err != nil {
				return nil, c.readError(err)
			}
		default:
			return c.versionedMessage(code, body)
		}
	}
}

// startupPacket reads a packet without a type byte. It reads not a byte beyond: what follows an
// SSLRequest in clear text must never be taken for something said under TLS.
func (c *conn) startupPacket() (code uint32, body []byte, err error) {
	var head [4]byte
	if n, err := io.ReadFull(c.net, head[:]); err != nil {
		if n == 0 {
			return 0, nil, errTerminated // probes of load balancers
		}
		return 0, nil, c.readError(err)
	}
	n := int64(binary.BigEndian.Uint32(head[:])) - 4
	if n < 4 || n > startupLimit {
		return 0, nil, pgerr.Fatal(pgerr.ProtocolViolation, "invalid length of startup packet")
	}
	body = make([]byte, n)
	if _, err := io.ReadFull(c.net, body); err != nil {
		return 0, nil, c.readError(err)
	}
	return binary.BigEndian.Uint32(body), body, nil
}

// versionedMessage decodes a StartupMessage and answers a minor version or options that are newer
// than ours.
func (c *conn) versionedMessage(version uint32, body []byte) (map[string]string, error) {
	major, minor := version>>16, version&0xffff
	if major != 3 {
		return nil, pgerr.Fatal(
			pgerr.FeatureNotSupported, "unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", major, minor,
		)
	}
	params, err := startupParameters(body)
	if err != nil {
		return nil, err
	}
	var unknown []string
	for name := range params {
		if strings.HasPrefix(name, optionPrefix) {
			unknown = append(unknown, name)
			delete(params, name)
		}
	}
	if minor > 0 || unknown != nil {
		sort.Strings(unknown)
		c.negotiateVersion(unknown)
	}
	return params, nil
}

// startupParameters decodes the parameters. The library knows version 3.0 only and takes one
// parameter for granted.
func startupParameters(body []byte) (map[string]string, error) {
	if bytes.Equal(body[4:], []byte{0}) {
		return map[string]string{}, nil
	}
	binary.BigEndian.PutUint32(body, protocol3)
	var m pgproto3.StartupMessage
	if err := decode(&m, body); err != nil {
		return nil, pgerr.Fatal(
			pgerr.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte",
		)
	}
	for name, value := range m.Parameters {
		if err := types.ValidateText(name); err != nil {
			return nil, err
		}
		if err := types.ValidateText(value); err != nil {
			return nil, err
		}
	}
	return m.Parameters, nil
}

// negotiateVersion appends NegotiateProtocolVersion, which the library lacks: the newest version
// that the server speaks, 3.0 in the form of a start-up packet's, and the options that it does not
// know.
func (c *conn) negotiateVersion(unknown []string) {
	out := c.output()
	start := len(out.b)
	b := append(out.b, 'v', 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, protocol3)
	b = binary.BigEndian.AppendUint32(b, uint32(len(unknown)))
	for _, name := range unknown {
		b = append(append(b, name...), 0)
	}
	binary.BigEndian.PutUint32(b[start+1:], uint32(len(b)-start-1))
	out.b = b
}

// sessionParams checks what the client asks for.
func (c *conn) sessionParams(m map[string]string) (session.StartupParams, error) {
	p := session.StartupParams{
		User: m["user"], Database: m["database"], Remote: remoteName(c.raw.RemoteAddr()), PID: c.pid, Secret: c.secret,
		Handle: session.Handle{Interrupt: c.intr.interrupt, Terminate: c.kill, Notify: c.notified},
	}
	if p.User == "" {
		return p, pgerr.Fatal(pgerr.InvalidAuthorization, "no PostgreSQL user name specified in startup packet")
	}
	if p.Database == "" {
		p.Database = p.User
	}
	switch strings.ToLower(m["replication"]) {
	case "", "false", "off", "no", "0":
	default:
		return p, pgerr.Unsupported("replication connections are not supported")
	}
	delete(m, "user")
	delete(m, "database")
	delete(m, "replication")
	if name, ok := m["client_encoding"]; ok {
		canonical, err := canonicalEncoding(name)
		if err != nil {
			return p, err
		}
		m["client_encoding"] = canonical
	}
	p.Settings = m
	return p, nil
}

func remoteName(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}
