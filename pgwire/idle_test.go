package pgwire

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	idleConnections  = 10_000
	idleBytesAllowed = 32 << 10
	idleClientsEnv   = "SHERD_TEST_IDLE_CLIENTS" // address and count, for the process that plays the clients
)

// Ten thousand idle connections cost at most 32 KiB each, also after they have been busy with large
// results (W6). The clients are another process: both ends in one would need twice the descriptors,
// and their memory would be counted too.
func TestIdleConnectionsAreSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own memory would be measured")
	}
	n := min(idleConnections, descriptors(t)-200)
	if n < idleConnections {
		t.Logf("only %d descriptors are to be had", n)
	}
	cfg := scriptConfig()
	cfg.MaxConnections = n + 1
	s, addr := startServer(t, cfg)
	connect(t, addr).query("select 1")
	before := memory(t)

	cmd := exec.Command(os.Args[0], "-test.run=^TestMain$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", idleClientsEnv, addr, n))
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "connected" {
		t.Fatalf("clients: %q %v", line, err)
	}
	if got := s.Connections(); got < n {
		t.Fatalf("%d connections", got)
	}
	after := memory(t)
	each := (after - before) / int64(n)
	t.Logf("%d idle connections: %d bytes each", n, each)
	if each > idleBytesAllowed {
		t.Errorf("an idle connection costs %d bytes", each)
	}
	_ = hold.Close()
	if err := cmd.Wait(); err != nil {
		t.Error("clients: ", err)
	}
}

// descriptors raises the limit as far as it goes and returns it.
func descriptors(t *testing.T) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return int(min(limit.Cur, 1<<20))
}

// memory returns the resident bytes of this process once garbage is returned.
func memory(t *testing.T) int64 {
	for range 3 { // stacks shrink by half in each collection
		runtime.GC()
	}
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal("this test needs /proc: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// TestMain plays the clients where it was started for that.
func TestMain(m *testing.M) {
	if task := os.Getenv(idleClientsEnv); task != "" {
		var addr string
		var n int
		if _, err := fmt.Sscan(task, &addr, &n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(holdConnections(addr, n))
	}
	os.Exit(m.Run())
}

// holdConnections opens n connections, has each run a query with a result larger than any buffer,
// and keeps them until its input ends.
func holdConnections(addr string, n int) int {
	var wg sync.WaitGroup
	var next, failed atomic.Int64
	for range 16 {
		wg.Go(func() {
			for int(next.Add(1)) <= n {
				if err := holdOne(addr); err != nil {
					failed.Add(1)
					fmt.Fprintln(os.Stderr, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if failed.Load() > 0 {
		return 1
	}
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func holdOne(addr string) error {
	nc, err := dialTimeout(addr)
	if err != nil {
		return err
	}
	// The connection is never closed: it ends with the process.
	r := bufio.NewReader(nc)
	for _, b := range [][]byte{
		startupBytes([]string{"user=postgres", "database=postgres"}),
		frame('Q', []byte("select repeat('x',40000)\x00")),
	} {
		if _, err := nc.Write(b); err != nil {
			return err
		}
		for typ := byte(0); typ != 'Z'; {
			if typ, _, err = readMessage(r); err != nil {
				return err
			}
		}
	}
	held.Store(nc, true)
	return nc.SetDeadline(time.Time{})
}
