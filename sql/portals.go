package sql

// anyToKeep reports whether there are cursors WITH HOLD that the open transaction has declared.
func (list portals) anyToKeep() bool {
	for _, p := range list {
		if p.hold && !p.held {
			return true
		}
	}
	return false
}

// closeSince closes the portals opened at a level of nesting or deeper.
func (list portals) closeSince(nest int) {
	for name, p := range list {
		if p.nest >= nest {
			list.close(name)
		}
	}
}

// release makes the portals that were opened at a level of nesting or deeper belong to the level
// above it.
func (list portals) release(nest int) {
	for _, p := range list {
		p.nest = min(p.nest, nest-1)
	}
}

// close closes and forgets a portal.
func (list portals) close(name string) {
	if p, ok := list[name]; ok {
		p.close()
		delete(list, name)
	}
}
