package sql

// LimitMemory changes what a query of the session may retain, until a setting changes. The settings
// allow no limit that is small enough for a test.
func (s *Session) LimitMemory(bytes int64) {
	s.freshen()
	s.derived.Memory = bytes
}
