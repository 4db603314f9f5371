package pgwire

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
)

func TestMessageAboveTheLimitIsSkipped(t *testing.T) {
	cfg := scriptConfig()
	cfg.MaxMessage = 100 << 10
	_, addr := startServer(t, cfg)
	c := connect(t, addr)
	c.query("select 1 --" + strings.Repeat("x", 200<<10))
	if code := c.failure(); code != "54000" {
		t.Errorf("Query: SQLSTATE %s", code)
	}
	c.until('Z')
	c.write(frame('P', bytes.Repeat([]byte{'x'}, 200<<10)))
	c.write(frame('S', nil))
	if code := c.failure(); code != "54000" {
		t.Errorf("Parse: SQLSTATE %s", code)
	}
	c.until('Z')
	c.query("copy t from stdin")
	c.until('G')
	c.write(frame('d', bytes.Repeat([]byte{'1'}, 200<<10)))
	c.write(frame('c', nil))
	if code := c.failure(); code != "54000" {
		t.Errorf("CopyData: SQLSTATE %s", code)
	}
	c.until('Z')
	c.query("select 1")
	c.until('Z')
}

// Messages of many sizes pass, alone and behind each other, whatever buffer they land in.
func TestMessagesOfAllSizes(t *testing.T) {
	_, addr := startServer(t, scriptConfig())
	c := connect(t, addr)
	for _, n := range []int{
		0, 1, smallSize - 20, smallSize, chunkSize - 20, chunkSize, chunkSize + 1, 3*chunkSize + 7, 1 << 20,
	} {
		q := frame('Q', append([]byte("select "+strings.Repeat(" ", n)+"7"), 0))
		go func() { _, _ = c.nc.Write(bytes.Repeat(q, 3)) }()
		for range 3 {
			if row := c.until('D'); string(row[6:]) != "7" {
				t.Fatalf("%d bytes: %q", n, row)
			}
			c.until('Z')
		}
	}
}

func TestLargeRows(t *testing.T) {
	_, addr := startServer(t, scriptConfig())
	c := connect(t, addr)
	c.query("select repeat('x',3000000)")
	if row := c.until('D'); len(row) != 6+3000000 {
		t.Errorf("a row of %d bytes", len(row))
	}
	c.until('Z')
	c.query("select generate_series(1,100000)")
	for i := range 100000 {
		if row := c.until('D'); i == 99999 && string(row[6:]) != "100000" {
			t.Errorf("the last row is %q", row)
		}
	}
	c.until('Z')
}

func TestTooManyConnections(t *testing.T) {
	cfg := scriptConfig()
	cfg.MaxConnections = 1
	s, addr := startServer(t, cfg)
	first := connect(t, addr)
	second := &client{t: t}
	dial := func() {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.SetDeadline(time.Now().Add(testTimeout))
		second.nc, second.r = nc, nil
	}
	dial()
	second.write(startupBytes([]string{"user=postgres", "database=postgres"}))
	typ, body, err := readMessage(second.nc)
	if err != nil || typ != 'E' || errorField(body, 'C') != "53300" || errorField(body, 'S') != "FATAL" {
		t.Fatalf("%c %q %v", typ, body, err)
	}
	_ = second.nc.Close()
	first.write(frame('X', nil))
	_, _ = first.r.ReadByte() // the end
	eventually.Holds(t, "the refused ones leave by themselves", func() bool { return s.Connections() == 0 })
	connect(t, addr)
}

// A client that says nothing, or nothing whole, loses its place in time (W1).
func TestStartupTimeout(t *testing.T) {
	cfg := scriptConfig()
	cfg.StartupTimeout = 20 * time.Millisecond
	_, addr := startServer(t, cfg)
	for _, said := range []string{"", "\x00\x00", "\x00\x00\x00\x10\x00\x03"} {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.SetDeadline(time.Now().Add(testTimeout))
		_, _ = nc.Write([]byte(said))
		if _, err := nc.Read(make([]byte, 1)); err == nil {
			t.Errorf("%q was answered", said)
		} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Errorf("%q kept its connection", said)
		}
		_ = nc.Close()
	}
}

// The limit of start-up is lifted when a client has been let in.
func TestStartupTimeoutIsLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scriptConfig()
		cfg.StartupTimeout = testTimeout / 4
		l := newPipes()
		serveOn(t, cfg, l)
		c := connectOn(t, l.dial())
		time.Sleep(2 * cfg.StartupTimeout)
		c.query("select 1")
		c.until('Z')
	})
}

// trickle gives its bytes in portions and counts what the reader asks memory for.
type trickle struct {
	data    []byte
	portion int
}

func (s *trickle) Read(p []byte) (int, error) {
	n := copy(p, s.data[:min(s.portion, len(s.data))])
	s.data = s.data[n:]
	if n == 0 {
		return 0, net.ErrClosed
	}
	return n, nil
}

// A header that claims 200 MB costs no more than what follows it (W2).
func TestMemoryFollowsTheBytesThatArrived(t *testing.T) {
	head := binary.BigEndian.AppendUint32([]byte{'Q'}, 200<<20)
	var r reader
	r.reset(&trickle{append(head, make([]byte, 100<<10)...), 7 << 10}, &chunks{}, 256<<20)
	if _, _, err := r.message(); err == nil {
		t.Fatal("no error")
	}
	if len(r.buf) > 256<<10 {
		t.Errorf("%d bytes for a message of which 100 KiB came", len(r.buf))
	}
}
