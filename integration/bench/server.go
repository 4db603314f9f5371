package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a running database: a process with its children, or several processes.
type server struct {
	name string
	port int // for clients
	pids []int
	stop func()
}

func (s *server) args() []string {
	return []string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres"}
}

// newServer returns a server for a running command.
func newServer(name string, port int, cmd *exec.Cmd) *server {
	return &server{name, port, []int{cmd.Process.Pid}, func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	}}
}

// command returns a command. If we are root, it runs as the user postgres when asPostgres is set,
// because PostgreSQL refuses to run as root.
func command(ctx context.Context, asPostgres bool, name string, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	if !asPostgres || os.Getuid() != 0 {
		return cmd, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	cmd.Dir = "/"
	return cmd, nil
}

const postgresBin = "/usr/lib/postgresql/15/bin"

func installPostgres(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(postgresBin, "initdb")); err == nil {
		return nil
	}
	for _, args := range [][]string{{"update"}, {"install", "-y", "postgresql-15", "postgresql-client-15"}} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("PostgreSQL 15 is not installed, and apt-get %s failed: %w", args[0], err)
		}
	}
	return nil
}

func startPostgres(ctx context.Context, dir string) (*server, error) {
	if err := installPostgres(ctx); err != nil {
		return nil, err
	}
	if err := postgresDir(ctx, dir); err != nil {
		return nil, err
	}
	if err := asPostgres(ctx, "initdb", "-D", dir, "-E", "UTF8", "--locale=C.UTF-8", "-A", "trust", "-U",
		"postgres"); err != nil {
		return nil, err
	}
	return runPostgres(ctx, "PostgreSQL", dir)
}

// postgresDir creates a directory that PostgreSQL accepts.
func postgresDir(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil || os.Getuid() != 0 {
		return err
	}
	if out, err := exec.CommandContext(ctx, "chown", "postgres", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	return nil
}

// asPostgres runs one of PostgreSQL's programs and waits for its end.
func asPostgres(ctx context.Context, program string, args ...string) error {
	cmd, err := command(ctx, true, filepath.Join(postgresBin, program), args...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s: %w", program, out, err)
	}
	return nil
}

// runPostgres starts PostgreSQL with a directory and waits until it accepts clients.
func runPostgres(ctx context.Context, name, dir string, settings ...string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{"-D", dir, "-p", strconv.Itoa(port)}
	for _, s := range append([]string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "timezone=UTC",
		"logging_collector=off"}, settings...) {
		args = append(args, "-c", s)
	}
	cmd, err := command(ctx, true, filepath.Join(postgresBin, "postgres"), args...)
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := newServer(name, port, cmd)
	return s, s.wait(ctx)
}

func (s *server) wait(ctx context.Context) error {
	for range 600 {
		if exec.CommandContext(ctx, "pg_isready", "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port)).Run() == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("did not come up")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// buildSherd builds the binary of this tree.
func buildSherd(ctx context.Context, dir string) (string, error) {
	bin := filepath.Join(dir, "sherd-bin")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "github.com/sherddb/sherd/cmd/sherd")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %s: %w", out, err)
	}
	return bin, nil
}

// startSherd starts one node.
func startSherd(ctx context.Context, bin, dir string) (*server, error) {
	args := []string{"start", "--data", dir, "--sql-addr", "127.0.0.1:0", "--node-addr", "127.0.0.1:0"}
	if addr := os.Getenv("BENCH_HTTP_ADDR"); addr != "" { // to profile the server
		args = append(args, "--http-addr", addr)
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("no ready line: %w", err)
	}
	u, err := url.Parse(strings.TrimPrefix(strings.TrimSpace(line), "ready "))
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(u.Port())
	return newServer("Sherd", port, cmd), err
}
