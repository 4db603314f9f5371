package faultnet

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// given counts the addresses that FreeAddr has returned in this process.
var given atomic.Uint32

// FreeAddr returns an address, HOST:PORT, for a node that will stop listening there and start
// again. If the machine has more than one loopback address, no other caller gets the same host, so
// no other listener and no outgoing connection takes the port meanwhile.
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
