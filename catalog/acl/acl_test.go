package acl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// names are the roles of the scripts by number.
var names = []string{"public", "o", "a", "b", "c", "d", `q"r`}

func nameOf(n uint32) string { return names[n] }

func number(name string) (uint32, error) {
	for i, n := range names {
		if n == name {
			return uint32(i), nil
		}
	}
	return 0, fmt.Errorf("role %q does not exist", name)
}

func text(l List) string {
	var out []string
	for _, x := range l {
		out = append(out, x.String(nameOf))
	}
	return strings.Join(out, " ")
}

// TestGrants runs scripts of GRANT and REVOKE on a table of role o. Their results are those of PostgreSQL.
func TestGrants(t *testing.T) {
	list, member := Default(Relation, 1), map[uint32][]uint32{}
	has := func(role, other uint32) bool {
		if role == other {
			return true
		}
		for _, m := range member[role] {
			if m == other {
				return true
			}
		}
		return false
	}
	datadriven.RunTest(t, "testdata/grants.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			words := strings.Fields(line)
			switch d.Cmd {
			case "default":
				list, member = Default(Relation, 1), map[uint32][]uint32{}
				return text(list)
			case "member": // role of
				role, _ := number(words[0])
				of, _ := number(words[1])
				member[role] = append(member[role], of)
				continue
			case "mask": // role privileges
				role, _ := number(words[0])
				mask := modeOf(words[1])
				m := list.Of(func(other uint32) bool { return has(role, other) }, 1, mask|mask.Options(), false)
				fmt.Fprintf(&out, "%s %s\n", words[0], Item{Mode: m}.String(nameOf))
				continue
			}
			// as privileges grantees [option] [cascade]
			role, _ := number(words[0])
			g := Grant{Revoke: d.Cmd == "revoke", Privileges: modeOf(words[1]), Has: has}
			for _, w := range strings.Split(words[2], ",") {
				n, err := number(w)
				if err != nil {
					t.Fatal(err)
				}
				g.Grantees = append(g.Grantees, n)
			}
			for _, w := range words[3:] {
				g.Option, g.Cascade = g.Option || w == "option", g.Cascade || w == "cascade"
			}
			grantor, options := list.BestGrantor(append([]uint32{role}, member[role]...), 1, g.Privileges)
			g.Grantor = grantor
			g.Privileges &= options.Granted()
			now, err := list.Apply(g, 1)
			if err != nil {
				fmt.Fprintln(&out, err)
				continue
			}
			list = now
			fmt.Fprintln(&out, text(list))
		}
		return out.String()
	})
}

func modeOf(s string) (m Mode) {
	for _, c := range s {
		m |= 1 << strings.IndexRune(letters, c)
	}
	return m
}

// TestText checks the text form of items in both directions.
func TestText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a=arw*/o", "a=arw*/o"}, {" =r/o ", "=r/o"}, {`"q""r"=U*C*/o`, `"q""r"=U*C*/o`},
		{"group a=x/b", "a=x/b"}, {"user a =r/b", "a=r/b"}, {"a=/o", "a=/o"}, {"a=rra*a/o", "a=a*r/o"},
		{"a=rz/o", `invalid mode character: must be one of "arwdDxtXUCTcsA"`},
		{"a", `unrecognized key word: "a"`}, {"group =r/o", `role "group" does not exist`},
		{"user", "missing name"}, {"user a r", `missing "=" sign`},
		{"a=r/", `a name must follow the "/" sign`}, {"a=r/o x", "extra garbage at the end of the ACL specification"},
		{"nobody=r/o", `role "nobody" does not exist`},
	} {
		x, _, err := Parse(c.in, number)
		got := ""
		if err != nil {
			got = strings.TrimSuffix(err.Error(), " (SQLSTATE 22P02)")
		} else {
			got = x.String(nameOf)
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
	if _, none, err := Parse("a=r", number); !none || err != nil {
		t.Errorf("an item without grantor: %v, %v", none, err)
	}
}

// TestOwner checks that a new owner has what the old one had and had granted.
func TestOwner(t *testing.T) {
	l := List{{1, 1, Select}, {2, 1, Select | Select.Options()}, {3, 2, Select}, {Public, 1, Insert}, {1, 2, Insert}}
	if got, want := text(l.WithOwner(1, 2)), "a=ar*/a b=r/a =a/a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if List(nil).WithOwner(1, 2) != nil {
		t.Error("the default list changes with its owner")
	}
}
