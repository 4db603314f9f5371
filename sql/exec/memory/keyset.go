package memory

// KeySet is a set of encoded keys, accounted for.
type KeySet struct {
	Mem   *Account
	keys  map[string]struct{}
	taken int64
}

// MapEntrySize is roughly the size of an entry of a map by strings.
const MapEntrySize = 48

// Add adds a key and reports whether it is new.
func (s *KeySet) Add(key []byte) (bool, error) {
	if s.Has(key) {
		return false, nil
	}
	n := int64(len(key)) + MapEntrySize
	if err := s.Mem.Grow(n); err != nil {
		return false, err
	}
	s.taken += n
	if s.keys == nil {
		s.keys = map[string]struct{}{}
	}
	s.keys[string(key)] = struct{}{}
	return true, nil
}

// Has reports whether a key is in the set.
func (s *KeySet) Has(key []byte) bool {
	_, ok := s.keys[string(key)]
	return ok
}

// Len returns the number of keys.
func (s *KeySet) Len() int { return len(s.keys) }

// Free returns the memory to the account.
func (s *KeySet) Free() {
	s.Mem.Release(s.taken)
	*s = KeySet{Mem: s.Mem}
}
