package node

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// ListenError is returned for an address that the node cannot listen at.
type ListenError struct {
	For     string // the peers that connect to the address
	Setting string // the name of the address: sql-addr, node-addr, http-addr
	Addr    string
	Err     error
}

func (e *ListenError) Error() string {
	return fmt.Sprintf("cannot listen for %s at %s: %s", e.For, e.Addr, e.Err)
}

func (e *ListenError) Unwrap() error { return e.Err }

// listen listens at an address.
func listen(whom, setting, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	var op *net.OpError
	if errors.As(err, &op) { // it contains the address, which the message names already
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return nil, &ListenError{For: whom, Setting: setting, Addr: addr, Err: err}
}
