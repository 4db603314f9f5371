package node

import (
	"net"
	"testing"
)

// TestAllSelf: a name is this node's own where all of its addresses are of this machine and one is listened at, not where it stands for other nodes too.
func TestAllSelf(t *testing.T) {
	for _, x := range []struct {
		listens string
		ips     []string
		want    bool
	}{
		{"127.0.0.1", []string{"127.0.0.1"}, true},
		{"127.0.0.1", []string{"::1", "127.0.0.1"}, true},
		{"127.0.0.1", []string{"::1"}, false},
		{"0.0.0.0", []string{"127.0.0.1"}, true},
		{"::", []string{"127.0.0.1", "::1"}, true},
		{"0.0.0.0", []string{"203.0.113.7"}, false},
		{"127.0.0.1", []string{"127.0.0.1", "203.0.113.7"}, false},
		{"0.0.0.0", []string{"203.0.113.7", "127.0.0.1", "203.0.113.8"}, false},
		{"203.0.113.7", []string{"203.0.113.7"}, true},
		{"0.0.0.0", nil, false},
	} {
		var ips []net.IPAddr
		for _, ip := range x.ips {
			ips = append(ips, net.IPAddr{IP: net.ParseIP(ip)})
		}
		if got := allSelf(net.ParseIP(x.listens), ips); got != x.want {
			t.Errorf("%v, which listens at %s: %t", x.ips, x.listens, got)
		}
	}
}
