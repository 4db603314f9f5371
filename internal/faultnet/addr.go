package faultnet

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// given counts the addresses that this process was given.
var given atomic.Uint32

// FreeAddr finds an address, HOST:PORT, for a node that will stop listening there and begin again.
// Its host is a loopback address that no other caller has, if there is more than one: meanwhile no
// other listener and no outgoing connection takes the port.
func FreeAddr() (string, error) {
	pid := os.Getpid()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>8&0x7f, pid&0xff, 1+given.Add(1)%250))
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
