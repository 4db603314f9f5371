package acl

import (
	"errors"
	"slices"
)

// Grant is what GRANT or REVOKE changes: privileges of grantees, for a grantor.
type Grant struct {
	Revoke     bool
	Option     bool // WITH GRANT OPTION, or GRANT OPTION FOR
	Cascade    bool
	Grantees   []uint32
	Privileges Mode
	Grantor    uint32
	// Has reports whether a role has the privileges of another one; nil: of itself only.
	Has func(role, other uint32) bool
}

// edit is a change of a list.
type edit struct {
	owner   uint32
	cascade bool
	has     func(role, other uint32) bool
}

func itself(role, other uint32) bool { return role == other }

// acting returns the Acts of a role.
func (e edit) acting(role uint32) Acts { return func(other uint32) bool { return e.has(role, other) } }

// Errors of Apply. The caller maps them to SQLSTATEs.
var (
	// ErrDependent: other roles have privileges from those that would be revoked.
	ErrDependent = errors.New("dependent privileges exist")
	// ErrCircular: a grant option would come from one that was granted with it.
	ErrCircular = errors.New("grant options cannot be granted back to your own grantor")
	// ErrPublicOption: Public cannot have grant options.
	ErrPublicOption = errors.New("grant options can only be granted to roles")
)

type updateKind byte

const (
	addMode updateKind = iota
	deleteMode
)

// Apply returns the list after a grant (merge_acl_with_grant).
func (l List) Apply(g Grant, owner uint32) (List, error) {
	e := edit{owner, g.Cascade, g.Has}
	if e.has == nil {
		e.has = itself
	}
	out := append(List{}, l...)
	for _, grantee := range g.Grantees {
		if !g.Revoke && g.Option && grantee == Public {
			return nil, ErrPublicOption
		}
		x, kind := Item{Grantee: grantee, Grantor: g.Grantor}, addMode
		if !g.Revoke || !g.Option {
			x.Mode = g.Privileges
		}
		if g.Option || g.Revoke {
			x.Mode |= g.Privileges.Options()
		}
		if g.Revoke {
			kind = deleteMode
		}
		var err error
		if out, err = e.update(out, x, kind); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// update returns the list after one item was added or taken away (aclupdate).
func (e edit) update(l List, x Item, kind updateKind) (List, error) {
	if kind == addMode && x.Mode>>optionShift != 0 {
		if err := e.checkCircular(l, x); err != nil {
			return nil, err
		}
	}
	out := slices.Clone(l)
	at := slices.IndexFunc(out, func(o Item) bool { return o.Grantee == x.Grantee && o.Grantor == x.Grantor })
	if at < 0 {
		at, out = len(out), append(out, Item{Grantee: x.Grantee, Grantor: x.Grantor})
	}
	old := out[at].Mode
	if kind == addMode {
		out[at].Mode |= x.Mode
	} else {
		out[at].Mode &^= x.Mode
	}
	now := out[at].Mode
	if now == 0 {
		out = slices.Delete(out, at, at+1)
	}
	if lost := old.Granted() &^ now.Granted(); lost != 0 {
		return e.revokeFurther(out, x.Grantee, lost)
	}
	return out, nil
}

// checkCircular refuses a grant option that would depend on itself (check_circularity): without what
// the grantee has granted, the grantor must still have it.
func (e edit) checkCircular(l List, x Item) error {
	if x.Grantor == e.owner {
		return nil
	}
	rest, all := slices.Clone(l), e
	all.cascade = true
	for again := true; again; {
		again = false
		for _, o := range rest {
			if o.Grantee == x.Grantee && o.Mode>>optionShift != 0 {
				var err error
				if rest, err = all.update(rest, o, deleteMode); err != nil {
					return err
				}
				again = true
				break
			}
		}
	}
	have := rest.Of(e.acting(x.Grantor), e.owner, x.Mode.Granted().Options(), false)
	if x.Mode.Granted()&^have.Granted() != 0 {
		return ErrCircular
	}
	return nil
}

// revokeFurther revokes what a role has granted with grant options that it has lost
// (recursive_revoke).
func (e edit) revokeFurther(l List, grantee uint32, lost Mode) (List, error) {
	if grantee == e.owner {
		return l, nil
	}
	still := l.Of(e.acting(grantee), e.owner, lost.Options(), false)
	if lost &^= still.Granted(); lost == 0 {
		return l, nil
	}
	out, all := l, e
	all.cascade = true
	for again := true; again; {
		again = false
		for _, o := range out {
			if o.Grantor != grantee || o.Mode&lost == 0 {
				continue
			}
			if !e.cascade {
				return nil, ErrDependent
			}
			var err error
			if out, err = all.update(out, Item{o.Grantee, grantee, lost | lost.Options()}, deleteMode); err != nil {
				return nil, err
			}
			again = true
			break
		}
	}
	return out, nil
}

// BestGrantor returns as which role a role grants or revokes privileges, and which grant options it has
// of them (select_best_grantor). roles are those whose privileges the role has, itself first.
func (l List) BestGrantor(roles []uint32, owner uint32, want Mode) (grantor uint32, options Mode) {
	need := want.Privileges().Options()
	if slices.Contains(roles, owner) {
		return owner, need
	}
	grantor = roles[0]
	best := 0
	for _, r := range roles {
		have := l.direct(r, owner, need)
		if have == need {
			return r, have
		}
		if have != 0 {
			if n := bits(have); n > best {
				grantor, options, best = r, have, n
			}
		}
	}
	return grantor, options
}

func bits(m Mode) (n int) {
	for ; m != 0; m &= m - 1 {
		n++
	}
	return n
}
