// Package postgres starts servers of PostgreSQL 15 on loopback, for programs that compare Sherd
// with it. PostgreSQL is installed from Debian's packages if it is missing. It refuses to run as
// root; its programs then run as the user postgres.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Server is a running server. Its superuser is postgres, without a password.
type Server struct {
	Port int
	cmd  *exec.Cmd
}

// Create makes a cluster of databases in a new directory, with the locale C.UTF-8, and starts its
// server with default settings.
func Create(ctx context.Context, dir string) (*Server, error) {
	if err := Install(ctx, filepath.Join(programs, "initdb"), "postgresql-15", "postgresql-client-15"); err != nil {
		return nil, err
	}
	if err := MakeDir(ctx, dir); err != nil {
		return nil, err
	}
	if err := Run(ctx, "initdb", "-D", dir, "-E", "UTF8", "--locale=C.UTF-8", "-A", "trust", "-U",
		"postgres"); err != nil {
		return nil, err
	}
	return Start(ctx, dir)
}

// Start starts the server of a directory, and waits until it accepts clients. The server may be
// returned with an error.
func Start(ctx context.Context, dir string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{"-D", dir, "-p", strconv.Itoa(port)}
	for _, s := range []string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "timezone=UTC",
		"logging_collector=off"} {
		args = append(args, "-c", s)
	}
	cmd, err := command(ctx, "postgres", args...)
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{port, cmd}
	return s, s.wait(ctx)
}

// URL is the connection string of database postgres.
func (s *Server) URL() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", s.Port)
}

// PID is the process id of the postmaster.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stop stops the server: it disconnects its clients.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	_ = s.cmd.Wait()
}

func (s *Server) wait(ctx context.Context) error {
	for range 600 {
		if exec.CommandContext(ctx, filepath.Join(programs, "pg_isready"), "-q", "-h", "127.0.0.1", "-p",
			strconv.Itoa(s.Port)).Run() == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("PostgreSQL did not start")
}

// programs is where Debian installs those of PostgreSQL 15.
const programs = "/usr/lib/postgresql/15/bin"

// Install installs Debian's packages if a program, by its path, is missing.
func Install(ctx context.Context, program string, packages ...string) error {
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	for _, args := range [][]string{{"update"}, append([]string{"install", "-y"}, packages...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s is missing, and apt-get %s failed: %w", program, args[0], err)
		}
	}
	return nil
}

// MakeDir creates a directory that PostgreSQL accepts.
func MakeDir(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil || os.Getuid() != 0 {
		return err
	}
	if out, err := exec.CommandContext(ctx, "chown", "postgres", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	return nil
}

// Run runs one of PostgreSQL's programs, such as pg_basebackup, and waits for its end.
func Run(ctx context.Context, program string, args ...string) error {
	cmd, err := command(ctx, program, args...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s: %w", program, out, err)
	}
	return nil
}

// command returns a command that runs as the user postgres if this process is root's.
func command(ctx context.Context, program string, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(programs, program), args...)
	if os.Getuid() != 0 {
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

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
