package fault

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Network connects the nodes, which are numbered from 1. Clients can always reach all of them.
type Network interface {
	// Address returns the address of a node.
	Address(node int) string
	// Via returns the prefix for a node's command.
	Via(node int) []string
	// Cuts reports whether Cut and Slow can be used.
	Cuts() bool
	// Cut drops what one node sends to another, until Mend.
	Cut(from, to int) error
	Mend(from, to int) error
	// Slow delays what a node sends, and drops what does not fit into a short queue.
	Slow(node int, slow bool) error
	Close() error
}

// Loopback is a network that never fails.
type Loopback struct{}

// Address returns the loopback address.
func (Loopback) Address(int) string { return "127.0.0.1" }

// Via is nothing.
func (Loopback) Via(int) []string { return nil }

// Cuts returns false.
func (Loopback) Cuts() bool { return false }

var errLoopback = errors.New("loopback cannot be cut")

// Cut does not work.
func (Loopback) Cut(int, int) error { return errLoopback }

// Mend does not work.
func (Loopback) Mend(int, int) error { return errLoopback }

// Slow does not work.
func (Loopback) Slow(int, bool) error { return errLoopback }

// Close does nothing.
func (Loopback) Close() error { return nil }

// Namespaces is a network namespace for each node, all on one bridge. The host has an address on
// the bridge too.
type Namespaces struct {
	bridge string
	subnet string // "10.213.7."
	nodes  int
}

// nowhere is a hardware address that no interface has.
const nowhere = "02:00:00:00:ff:ff"

// NewNamespaces creates the network of n nodes.
func NewNamespaces(n int) (*Namespaces, error) {
	id := os.Getpid() % 100_000
	s := &Namespaces{bridge: fmt.Sprintf("shdb%d", id), subnet: freeSubnet(id)}
	steps := [][]string{
		{"ip", "link", "add", s.bridge, "type", "bridge"},
		{"ip", "addr", "add", s.subnet + "254/24", "dev", s.bridge},
		{"ip", "link", "set", s.bridge, "up"},
	}
	for node := 1; node <= n; node++ {
		ns, outside := s.namespace(node), s.outside(node)
		steps = append(steps,
			[]string{"ip", "netns", "add", ns},
			[]string{"ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", ns},
			[]string{"ip", "link", "set", outside, "master", s.bridge, "up"},
			[]string{"ip", "-n", ns, "link", "set", "lo", "up"},
			[]string{"ip", "-n", ns, "addr", "add", s.Address(node) + "/24", "dev", "eth0"},
			[]string{"ip", "-n", ns, "link", "set", "eth0", "up"},
		)
	}
	s.nodes = n
	for _, step := range steps {
		if err := run(step...); err != nil {
			return nil, errors.Join(fmt.Errorf("a network of namespaces wants root and iproute2: %w", err), s.Close())
		}
	}
	return s, nil
}

// freeSubnet returns a subnet of 10.213 that no interface of this machine is in.
func freeSubnet(start int) string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		addrs = nil
	}
	for i := range 250 {
		subnet := fmt.Sprintf("10.213.%d.", (start+i)%250)
		taken := false
		for _, a := range addrs {
			taken = taken || strings.HasPrefix(a.String(), subnet)
		}
		if !taken {
			return subnet
		}
	}
	return "10.213.250."
}

func (s *Namespaces) namespace(node int) string { return s.bridge + "n" + strconv.Itoa(node) }
func (s *Namespaces) outside(node int) string   { return fmt.Sprintf("%sv%d", s.bridge, node) }

// Address is the node's on the bridge.
func (s *Namespaces) Address(node int) string { return s.subnet + strconv.Itoa(node) }

// Via returns the prefix that runs a command in the node's namespace; the process number stays the
// same.
func (s *Namespaces) Via(node int) []string {
	return []string{"ip", "netns", "exec", s.namespace(node)}
}

// Cuts returns true.
func (s *Namespaces) Cuts() bool { return true }

// Cut sends packets for the other node to an address that does not exist.
func (s *Namespaces) Cut(from, to int) error {
	return run("ip", "-n", s.namespace(from), "neigh", "replace",
		s.Address(to), "lladdr", nowhere, "dev", "eth0", "nud", "permanent")
}

// Mend forgets that.
func (s *Namespaces) Mend(from, to int) error {
	return run("ip", "-n", s.namespace(from), "neigh", "del", s.Address(to), "dev", "eth0")
}

// Slow bounds a node's sending to 2 Mbit/s, with a queue of 50 ms.
func (s *Namespaces) Slow(node int, slow bool) error {
	if !slow {
		return run("tc", "-n", s.namespace(node), "qdisc", "del", "dev", "eth0", "root")
	}
	return run("tc", "-n", s.namespace(node), "qdisc", "add",
		"dev", "eth0", "root", "tbf", "rate", "2mbit", "burst", "8kb", "latency", "50ms")
}

// Close removes the network.
func (s *Namespaces) Close() error {
	var errs []error
	for node := 1; node <= s.nodes; node++ {
		errs = append(errs, run("ip", "netns", "del", s.namespace(node)))
	}
	return errors.Join(append(errs, run("ip", "link", "del", s.bridge))...)
}

func run(command ...string) error {
	var stderr bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(stderr.String()))
	}
	return nil
}
