package integration

import (
	"bufio"
	wire "encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const (
	idleConnections = 10_000
	idleBytes       = 32 << 10 // that each may cost
)

// TestIdleConnections opens 10,000 connections that have each run a statement, and measures what they hold of the process's memory.
func TestIdleConnections(t *testing.T) {
	raiseFileLimit(t)
	p, err := Start(binary, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	const warm = 100 // what these make the process hold, it would hold for one
	var conns []net.Conn
	open := func(n int) int64 {
		for len(conns) < n {
			conns = append(conns, idleConnection(t, u.Host))
		}
		return residentBytes(t, p.cmd.Process.Pid)
	}
	before := open(warm)
	each := (open(idleConnections) - before) / (idleConnections - warm)
	t.Logf("an idle connection holds %.1f KiB", float64(each)/1024)
	if each > idleBytes {
		t.Errorf("an idle connection holds %d bytes, more than %d", each, idleBytes)
	}
	for _, c := range conns {
		c.Close()
	}
}

// raiseFileLimit allows this process, and those that it starts, the sockets of the test.
func raiseFileLimit(t *testing.T) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	const want = idleConnections + 1000
	if l.Cur >= want {
		return
	}
	l.Cur, l.Max = want, max(l.Max, want)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatalf("this test needs %d open files: %v", want, err)
	}
}

// idleConnection connects without a driver, whose own memory and goroutines would be in the way, and runs a statement.
func idleConnection(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	body := "\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"
	start := append(wire.BigEndian.AppendUint32(nil, uint32(len(body)+4)), body...)
	query := "SELECT 1\x00"
	start = append(start, 'Q')
	start = append(wire.BigEndian.AppendUint32(start, uint32(len(query)+4)), query...)
	if _, err := c.Write(start); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(c, 512)
	for ready := 0; ready < 2; {
		kind, err := readMessage(r)
		if err != nil {
			t.Fatal(err)
		}
		switch kind {
		case 'Z':
			ready++
		case 'E':
			t.Fatal("the connection was refused")
		}
	}
	return c
}

func readMessage(r *bufio.Reader) (kind byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, err
	}
	_, err = r.Discard(int(wire.BigEndian.Uint32(head[1:])) - 4)
	return head[0], err
}

func residentBytes(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
