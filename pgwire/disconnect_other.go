//go:build !linux

package pgwire

import "net"

// clientGone is not known without POLLRDHUP: such a statement runs to its end, as in PostgreSQL on
// those systems.
func clientGone(net.Conn) bool { return false }
