package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/internal/testlog"
)

// readyTimeout is how long a process may take to accept clients on a busy machine, recovery
// included.
const readyTimeout = 60 * time.Second

// Build compiles the command into dir and returns its path.
func Build(dir string) (string, error) { return build(filepath.Join(dir, "sherd")) }

// BuildRelease is Build for a program that acts as another release, RELEASE:FROM-TO: its name and
// the versions of clusters that it supports.
func BuildRelease(dir, release string) (string, error) {
	return build(filepath.Join(dir, "sherd-"+release), "-ldflags", "-X main.pretended="+release)
}

func build(path string, flags ...string) (string, error) {
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...),
		"github.com/sherddb/sherd/cmd/sherd")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// Process is a running `sherd start`.
type Process struct {
	URL  string // from its ready line
	Data string

	cmd    *exec.Cmd
	log    *lockedBuffer
	exited chan struct{} // closed when the process has ended
	err    error         // of Wait; read after exited
}

// lockedBuffer collects standard error, which a test may read meanwhile.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	recovered.add(p)
	return l.b.Write(p)
}

// recovered collects the panics from which the processes of a test binary recovered.
var recovered panics

type panics struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

// add looks for panics in the output of a process; slog writes a record at once.
func (r *panics) add(p []byte) {
	if found := testlog.Panics(string(p)); len(found) > 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lines = append(r.lines, found...)
	}
}

// ExitCode returns the exit code of a test binary: that of its tests, and not 0 if a process that
// they started has recovered from a panic.
func ExitCode(code int) int {
	recovered.mu.Lock()
	defer recovered.mu.Unlock()
	for _, line := range recovered.lines {
		fmt.Fprintln(os.Stderr, "FAIL: a process recovered from a panic:", line)
		code = max(code, 1)
	}
	return code
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Command describes how to start a node.
type Command struct {
	Via     []string // prefix of the command, to run it in a network namespace
	Binary  string
	Data    string
	SQLAddr string
	Flags   []string
}

// Launch starts a process and returns at once. The process may be killed before it is ready.
func Launch(binary, data string, flags ...string) (*Process, *bufio.Reader, error) {
	return LaunchCommand(Command{Binary: binary, Data: data, SQLAddr: "127.0.0.1:0", Flags: flags})
}

// LaunchCommand is Launch with all options.
func LaunchCommand(c Command) (*Process, *bufio.Reader, error) {
	p := &Process{Data: c.Data, log: &lockedBuffer{}, exited: make(chan struct{})}
	words := append(append([]string{}, c.Via...), c.Binary, "start", "--data", c.Data, "--sql-addr", c.SQLAddr,
		"--node-addr", "127.0.0.1:0")
	words = append(words, c.Flags...)
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Stderr = p.log
	// A pipe of our own: StdoutPipe would be closed by Wait under the reader.
	out, in, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	p.cmd.Stdout = in
	if err := p.cmd.Start(); err != nil {
		return nil, nil, errors.Join(err, out.Close(), in.Close())
	}
	in.Close()
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, bufio.NewReader(out), nil
}

// Start starts a process and waits for its ready line.
func Start(binary, data string, flags ...string) (*Process, error) {
	return StartCommand(Command{Binary: binary, Data: data, SQLAddr: "127.0.0.1:0", Flags: flags})
}

// StartCommand is Start with all options.
func StartCommand(c Command) (*Process, error) {
	p, out, err := LaunchCommand(c)
	if err != nil {
		return nil, err
	}
	if err := p.WaitReady(out); err != nil {
		p.Kill()
		return nil, fmt.Errorf("%w; its log:\n%s", err, p.Log())
	}
	return p, nil
}

// WaitReady waits until the process accepts clients.
func (p *Process) WaitReady(out *bufio.Reader) error {
	lines := make(chan error, 1)
	go func() {
		line, err := out.ReadString('\n')
		if errors.Is(err, io.EOF) {
			<-p.exited
			err = fmt.Errorf("the process ended before it was ready: %v", p.err)
		}
		url, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
		if err == nil && !ok {
			err = fmt.Errorf("the first line of output is %q, not the ready line", line)
		}
		p.URL = url
		lines <- err
	}()
	select {
	case err := <-lines:
		return err
	case <-time.After(readyTimeout):
		return fmt.Errorf("not ready after %v", readyTimeout)
	}
}

// Kill kills the process, as a crash would, and waits until it has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
}

// Terminate stops the process with SIGTERM and returns its exit code and how long it took.
func (p *Process) Terminate() (code int, took time.Duration, err error) {
	started := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return -1, 0, err
	}
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode(), time.Since(started), nil
	case <-time.After(readyTimeout):
		took := time.Since(started)
		p.Dump()
		return -1, took, fmt.Errorf("still running %v after SIGTERM; its log:\n%s", readyTimeout, p.Log())
	}
}

// Dump ends the process; its log then has the stacks of all goroutines.
func (p *Process) Dump() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.exited:
	case <-time.After(readyTimeout):
		p.Kill()
	}
}

// Exited reports whether the process has ended.
func (p *Process) Exited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Log returns what the process wrote to standard error.
func (p *Process) Log() string { return p.log.String() }

// StartT starts a process for one test and stops it at the end of the test.
func StartT(t testing.TB, binary, data string, flags ...string) *Process {
	t.Helper()
	p, err := Start(binary, data, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// Connect opens a connection and closes it at the end of the test.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// Exec runs a statement that must succeed.
func Exec(t testing.TB, conn *pgx.Conn, text string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// One runs a query that must return one value.
func One[T any](t testing.TB, conn *pgx.Conn, text string, args ...any) (v T) {
	t.Helper()
	if err := conn.QueryRow(context.Background(), text, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }
