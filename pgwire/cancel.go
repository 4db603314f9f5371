package pgwire

import (
	"crypto/subtle"

	"github.com/sherddb/sherd/sql/monitor"
)

// Cancel cancels the statement that the connection with this pid runs, if the secret is right (W5).
// The client does not learn whether it was. Only connections of this server are considered.
func (s *Server) Cancel(pid, secret uint32) {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c == nil || subtle.ConstantTimeEq(int32(c.secret), int32(secret)) != 1 {
		return
	}
	c.intr.interrupt(userCancel())
}

// cancelAnywhere forwards a client's request to the node of the connection, because a load balancer
// may have sent the request here.
func (s *Server) cancelAnywhere(pid, secret uint32) {
	if other := s.cfg.CancelElsewhere; other != nil && monitor.NodeOfPID(pid) != monitor.NodeOfPID(s.cfg.FirstPID) {
		other(pid, secret)
		return
	}
	s.Cancel(pid, secret)
}
