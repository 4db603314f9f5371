package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/sherddb/sherd/node"
)

// checkAddresses refuses invalid addresses before anything is created. The error names the flag,
// its value and what is expected.
func checkAddresses(cfg *node.Config) error {
	errs := []error{
		checkListen("--sql-addr", cfg.SQLAddr, defaultSQLAddr),
		checkListen("--node-addr", cfg.NodeAddr, defaultNodeAddr),
	}
	if cfg.HTTPAddr != "" {
		errs = append(errs, checkListen("--http-addr", cfg.HTTPAddr, "127.0.0.1:8433"))
	}
	errs = append(
		errs, checkAdvertised("--advertise-addr", cfg.AdvertiseAddr, "10.0.0.1:7433"),
		checkAdvertised("--sql-advertise-addr", cfg.SQLAdvertiseAddr, "10.0.0.1:5433"),
	)
	for _, addr := range cfg.Join {
		if err := checkReached(addr); err != nil {
			errs = append(
				errs,
				usageError{
					fmt.Errorf(
						"--join %q: %w; it is HOST:PORT of another node's --node-addr, such as 10.0.0.1:7433", addr,
						err,
					),
				},
			)
		}
	}
	return errors.Join(errs...)
}

// checkListen refuses an address at which a node cannot listen.
func checkListen(flag, addr, example string) error {
	if _, err := splitAddress(addr); err != nil {
		return usageError{fmt.Errorf("%s %q: %w; it is HOST:PORT, such as %s", flag, addr, err, example)}
	}
	return nil
}

// checkAdvertised refuses an address that no other node can reach.
func checkAdvertised(flag, addr, example string) error {
	if addr == "" {
		return nil
	}
	checked := addr
	// The port is the one at which the node listens.
	if !strings.Contains(addr, ":") || net.ParseIP(addr) != nil {
		checked = net.JoinHostPort(addr, "1")
	}
	if err := checkReached(checked); err != nil {
		host, _, _ := strings.Cut(example, ":")
		return usageError{
			fmt.Errorf("%s %q: %w; it is HOST or HOST:PORT, such as %s or %s", flag, addr, err, host, example),
		}
	}
	return nil
}

// checkReached refuses an address that no other host can reach.
func checkReached(addr string) error {
	host, err := splitAddress(addr)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return errors.New("it names no machine")
	}
	if strings.HasSuffix(addr, ":0") {
		return errors.New("port 0 is none")
	}
	return nil
}

// splitAddress returns the host of HOST:PORT.
func splitAddress(addr string) (host string, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		var a *net.AddrError
		if errors.As(err, &a) {
			return "", errors.New(a.Err)
		}
		return "", err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("the port %q is not a number from 0 to 65535", port)
	}
	if strings.ContainsAny(host, " \t/@,") {
		return "", fmt.Errorf("%q is not the name or the address of a machine", host)
	}
	return host, nil
}

// explainListen adds to the error of a port that cannot be opened the flag that sets it, and what
// to do.
func explainListen(err error) error {
	var l *node.ListenError
	if !errors.As(err, &l) {
		return err
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "; if several nodes run on one machine, each needs its own --sql-addr, --node-addr and --http-addr"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "; it is not an address of this machine: use --advertise-addr or --sql-advertise-addr " +
			"for an address that others use"
	case errors.Is(err, syscall.EACCES):
		hint = "; ports below 1024 need privileges: use a higher one"
	}
	return fmt.Errorf("--%s %s: %w%s", l.Setting, l.Addr, l.Err, hint)
}

// portTaken adds a hint to the error of a port in use.
func portTaken(err error, hint string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; %s", err, hint)
	}
	return err
}

// checkLoopback refuses to open a port beyond this machine that has no lock.
func checkLoopback(flag, addr, why string) error {
	if addr == "" {
		return nil
	}
	host, err := splitAddress(addr)
	if err != nil {
		return usageError{fmt.Errorf("%s %q: %w", flag, addr, err)}
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s %s is not a loopback address: %s. Use 127.0.0.1 and a tunnel", flag, addr, why)
}
