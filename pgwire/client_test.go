package pgwire

import (
	"bufio"
	"encoding/binary"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// testTimeout bounds each wait of a test. It is long, because the machine may be busy.
const testTimeout = 2 * time.Minute

// client is a bare frontend for tests that count bytes or look at time; where a driver will do they
// use pgx.
type client struct {
	t           testing.TB
	nc          net.Conn
	r           *bufio.Reader
	pid, secret uint32
}

// connect starts a connection as postgres and waits for ReadyForQuery.
func connect(t testing.TB, addr string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return connectOn(t, nc)
}

// connectOn is connect over a connection that is open.
func connectOn(t testing.TB, nc net.Conn) *client {
	t.Helper()
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(testTimeout))
	c := &client{t: t, nc: nc, r: bufio.NewReader(nc)}
	c.write(startupBytes([]string{"user=postgres", "database=postgres"}))
	for {
		typ, body := c.read()
		switch typ {
		case 'K':
			c.pid, c.secret = binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
		case 'Z':
			return c
		case 'E':
			t.Fatalf("connecting: %q", body)
		}
	}
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) query(text string) {
	c.t.Helper()
	c.write(frame('Q', append([]byte(text), 0)))
}

func (c *client) read() (byte, []byte) {
	c.t.Helper()
	typ, body, err := readMessage(c.r)
	if err != nil {
		c.t.Fatal("reading: ", err)
	}
	return typ, body
}

// until reads up to a message of the type and returns its body.
func (c *client) until(typ byte) []byte {
	c.t.Helper()
	for {
		got, body := c.read()
		if got == typ {
			return body
		}
		if got == 'E' {
			c.t.Fatalf("%s", errorLine(got, body))
		}
	}
}

// failure reads up to an error and returns its SQLSTATE.
func (c *client) failure() string {
	c.t.Helper()
	for {
		if typ, body := c.read(); typ == 'E' {
			return errorField(body, 'C')
		}
	}
}

func errorField(body []byte, field byte) string {
	for _, f := range strings.Split(string(body), "\x00") {
		if f != "" && f[0] == field {
			return f[1:]
		}
	}
	return ""
}

func frame(typ byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{typ}, uint32(len(body)+4)), body...)
}

// cancelRequest sends a cancel request on a connection of its own and waits until the server has
// dealt with it.
func cancelRequest(t testing.TB, addr string, pid, secret uint32) {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	b := binary.BigEndian.AppendUint32(nil, 16)
	b = binary.BigEndian.AppendUint32(b, cancelCode)
	b = binary.BigEndian.AppendUint32(b, pid)
	b = binary.BigEndian.AppendUint32(b, secret)
	if _, err := nc.Write(b); err != nil {
		t.Fatal(err)
	}
	_, _ = nc.Read(make([]byte, 1)) // the end of the stream
}

// held keeps connections from the collector, which would close them.
var held sync.Map

func dialTimeout(addr string) (net.Conn, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return nc, nc.SetDeadline(time.Now().Add(testTimeout))
}
