//go:build !linux

package pgwire

import "net"

// clientGone returns false, because without POLLRDHUP the answer is unknown: the statement runs to
// its end, as in PostgreSQL on those systems.
func clientGone(net.Conn) bool { return false }
