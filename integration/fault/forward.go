package fault

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
)

// forwardVariable names the environment variable with which this program is a forwarder: FROM>TO.
const forwardVariable = "SHERD_FAULT_FORWARD"

// Forwarder forwards connections if this process was started for that, and then does not return. A
// node accepts clients on loopback, which in a namespace is the namespace's own. Programs that use
// a network of namespaces must call it first.
func Forwarder() {
	from, to, ok := strings.Cut(os.Getenv(forwardVariable), ">")
	if !ok {
		return
	}
	l, err := net.Listen("tcp", from)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go forward(c, to)
	}
}

func forward(c net.Conn, to string) {
	defer c.Close()
	d, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer d.Close()
	done := make(chan struct{}, 2)
	pass := func(dst, src net.Conn) {
		_, _ = io.Copy(dst, src)
		done <- struct{}{}
	}
	go pass(c, d)
	go pass(d, c)
	<-done
}

// startForwarder starts this program as a forwarder.
func startForwarder(via []string, from, to string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	words := append(append([]string{}, via...), self)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), forwardVariable+"="+from+">"+to)
	cmd.Stderr = os.Stderr
	return cmd, cmd.Start()
}
