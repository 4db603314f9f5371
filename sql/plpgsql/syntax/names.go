package syntax

// Names is a list of the names that are visible at a place of a body, innermost first. A list is
// not changed once it is made: an expression keeps the one of its place.
type Names struct {
	outer    *Names
	name     string
	variable *Variable // nil: name is the label of the block that begins here
	loop     bool      // the label is a loop's
	labeled  bool
}

func (n *Names) with(v *Variable, name string) *Names {
	return &Names{outer: n, name: name, variable: v}
}

func (n *Names) block(label string, loop bool) *Names {
	return &Names{outer: n, name: label, loop: loop, labeled: true}
}

// Find returns the variable that a qualified name begins with, and how many of its parts are the
// variable's: 1, or 2 with the label of its block; nil if there is none.
func (n *Names) Find(parts []string) (*Variable, int) {
	for level := n; level != nil; {
		first, label := level, level
		for ; label != nil && !label.labeled; label = label.outer {
			if label.name == parts[0] && (len(parts) == 1 || label.variable.hasFields()) {
				return label.variable, 1
			}
		}
		if label == nil {
			return nil, 0
		}
		if len(parts) > 1 && label.name == parts[0] && label.name != "" {
			for e := first; e != label; e = e.outer {
				if e.name == parts[1] && (len(parts) == 2 || e.variable.hasFields()) {
					return e.variable, 2
				}
			}
		}
		level = label.outer
	}
	return nil, 0
}

// declared reports whether the innermost block has declared a name.
func (n *Names) declared(name string) bool {
	for e := n; e != nil && !e.labeled; e = e.outer {
		if e.name == name {
			return true
		}
	}
	return false
}

// label returns the entry of a label; nil: there is none.
func (n *Names) label(name string) *Names {
	for e := n; e != nil; e = e.outer {
		if e.labeled && e.name == name {
			return e
		}
	}
	return nil
}

func (n *Names) inLoop() bool {
	for e := n; e != nil; e = e.outer {
		if e.loop {
			return true
		}
	}
	return false
}

// hasFields reports whether a variable may be followed by the name of a field.
func (v *Variable) hasFields() bool { return v.Composite }
