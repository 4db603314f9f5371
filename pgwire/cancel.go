package pgwire

import "crypto/subtle"

// Cancel cancels the statement that the connection of this pid runs, if the secret is right (W5). Nobody learns whether it was.
func (s *Server) Cancel(pid, secret uint32) {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c == nil || subtle.ConstantTimeEq(int32(c.secret), int32(secret)) != 1 {
		return
	}
	c.intr.interrupt(userCancel())
}
