package acl

import "slices"

// Mode is a set of privileges, in the lower 16 bits, and of grant options, in the upper 16 bits.
type Mode uint32

// Privileges. The bits are those of PostgreSQL.
const (
	Insert      Mode = 1 << iota // a
	Select                       // r
	Update                       // w
	Delete                       // d
	Truncate                     // D
	References                   // x
	Trigger                      // t
	Execute                      // X
	Usage                        // U
	Create                       // C
	Temporary                    // T
	Connect                      // c
	SetValue                     // s, of parameters
	AlterSystem                  // A, of parameters
)

const (
	optionShift = 16
	privileges  = Mode(1)<<optionShift - 1
)

// letters are the letters of the privileges, by bit.
const letters = "arwdDxtXUCTcsA"

// words are the names of the privileges, by bit.
var words = [...]string{
	"INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "EXECUTE", "USAGE", "CREATE",
	"TEMPORARY", "CONNECT", "SET", "ALTER SYSTEM",
}

// Options returns the grant options of the privileges in m.
func (m Mode) Options() Mode { return m << optionShift }

// Privileges returns the privileges in m, without grant options.
func (m Mode) Privileges() Mode { return m & privileges }

// Granted returns the privileges whose grant options are in m.
func (m Mode) Granted() Mode { return m >> optionShift }

// Words returns the names of the privileges in m.
func (m Mode) Words() []string {
	var out []string
	for i, w := range words {
		if m&(1<<i) != 0 {
			out = append(out, w)
		}
	}
	return out
}

// ModeOf returns the privilege of a name in upper case, 0 if there is none.
func ModeOf(word string) Mode {
	if word == "TEMP" {
		return Temporary
	}
	if i := slices.Index(words[:], word); i >= 0 {
		return 1 << i
	}
	return 0
}

// Public is the grantee of what all roles may do.
const Public uint32 = 0

// Item is what one role has granted to another one, or to Public.
type Item struct {
	Grantee, Grantor uint32
	Mode             Mode
}

// List is an access list. A nil list stands for the default one; an empty list grants nothing.
type List []Item

// Kind is a kind of objects.
type Kind byte

// Kinds of objects.
const (
	Relation Kind = 'r'
	Column   Kind = 'c'
	Sequence Kind = 's'
	Database Kind = 'd'
	Function Kind = 'f'
	Language Kind = 'l'
	Schema   Kind = 'n'
	Type     Kind = 'T'
	// Kinds without objects; acldefault knows them.
	LargeObject  Kind = 'L'
	Parameter    Kind = 'p'
	Tablespace   Kind = 't'
	Wrapper      Kind = 'F'
	ForeignTable Kind = 'S'
)

// All returns all privileges that there are for a kind.
func (k Kind) All() Mode {
	switch k {
	case Relation:
		return Insert | Select | Update | Delete | Truncate | References | Trigger
	case Column:
		return Insert | Select | Update | References
	case Sequence:
		return Usage | Select | Update
	case Database:
		return Create | Temporary | Connect
	case Function:
		return Execute
	case Schema:
		return Usage | Create
	case Language, Type, Wrapper, ForeignTable:
		return Usage
	case LargeObject:
		return Select | Update
	case Parameter:
		return SetValue | AlterSystem
	case Tablespace:
		return Create
	}
	return 0
}

// world returns what all roles may do by default.
func (k Kind) world() Mode {
	switch k {
	case Database:
		return Temporary | Connect
	case Function:
		return Execute
	case Language, Type:
		return Usage
	}
	return 0
}

// Default returns the list that a nil one stands for.
func Default(k Kind, owner uint32) List {
	out := List{}
	if w := k.world(); w != 0 {
		out = append(out, Item{Public, owner, w})
	}
	if all := k.All(); all != 0 && k != Column && k != Parameter {
		out = append(out, Item{owner, owner, all})
	}
	return out
}

// Or returns the list, or the default one if it is nil.
func (l List) Or(k Kind, owner uint32) List {
	if l == nil {
		return Default(k, owner)
	}
	return l
}

// Equal reports whether two lists have the same items, in any order.
func (l List) Equal(m List) bool {
	if (l == nil) != (m == nil) || len(l) != len(m) {
		return false
	}
	for _, x := range l {
		if !slices.Contains(m, x) {
			return false
		}
	}
	return true
}

// Merge returns the items of both lists, as makes the defaults for new objects (aclmerge).
func (l List) Merge(m List, owner uint32) List {
	out, e := slices.Clone(l), edit{owner, true, itself}
	for _, x := range m {
		if with, err := e.update(out, x, addMode); err == nil {
			out = with
		}
	}
	return out
}

// Roles returns the roles that the list names, each once, except without.
func (l List) Roles(without uint32) []uint32 {
	var out []uint32
	add := func(r uint32) {
		if r != Public && r != without && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for _, x := range l {
		add(x.Grantee)
		add(x.Grantor)
	}
	return out
}

// Acts reports whether the role in question has the privileges of another one.
type Acts func(role uint32) bool

// Of returns which of the privileges and grant options in mask a role has, which acts as owner if it has
// the owner's privileges. With any, it may stop at the first one (aclmask).
func (l List) Of(acts Acts, owner uint32, mask Mode, any bool) Mode {
	if mask == 0 {
		return 0
	}
	var out Mode
	if mask>>optionShift != 0 && acts(owner) {
		if out = mask &^ privileges; any || out == mask {
			return out
		}
	}
	enough := func() bool { return any && out != 0 || out == mask }
	for _, x := range l {
		if x.Grantee == Public {
			if out |= x.Mode & mask; enough() {
				return out
			}
		}
	}
	for _, x := range l {
		if x.Grantee != Public && x.Mode&(mask&^out) != 0 && acts(x.Grantee) {
			if out |= x.Mode & mask; enough() {
				return out
			}
		}
	}
	return out
}

// direct returns which privileges in mask the list grants to a role itself or to Public
// (aclmask_direct).
func (l List) direct(role, owner uint32, mask Mode) Mode {
	return l.Of(func(r uint32) bool { return r == role }, owner, mask, false)
}

// WithOwner returns the list after the owner has changed: what the old one had and had granted is the
// new one's (aclnewowner).
func (l List) WithOwner(old, now uint32) List {
	if l == nil {
		return nil
	}
	out := List{}
	for _, x := range l {
		if x.Grantee == old {
			x.Grantee = now
		}
		if x.Grantor == old {
			x.Grantor = now
		}
		same := slices.IndexFunc(out, func(o Item) bool { return o.Grantee == x.Grantee && o.Grantor == x.Grantor })
		if same >= 0 {
			out[same].Mode |= x.Mode
			continue
		}
		out = append(out, x)
	}
	return out
}
