package locks

// Withhold makes the manager call f before it grants a lock on a table, and refuse the lock with
// f's error; nil ends that. It is for a node that does not know yet what was held before it was
// started.
func (m *Manager) Withhold(f func(Tag, Mode) error) {
	if f == nil {
		m.withheld.Store(nil)
		return
	}
	m.withheld.Store(&f)
}

func (m *Manager) refusal(tag Tag, mode Mode) error {
	f := m.withheld.Load()
	if f == nil || tag.Kind != Relation {
		return nil
	}
	return (*f)(tag, mode)
}
