package fragment

import (
	"reflect"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/storage"
)

func TestArrived(t *testing.T) {
	members := func(voters []uint32, others ...uint32) (out []storage.Member) {
		for _, n := range voters {
			out = append(out, storage.Member{Node: n, Voter: true})
		}
		for _, n := range others {
			out = append(out, storage.Member{Node: n})
		}
		return out
	}
	f := catalog.Fragment{Nodes: []uint32{1, 2, 3, 4}, Joining: []uint32{4}, Leaving: []uint32{3}}
	for _, c := range []struct {
		name    string
		members []storage.Member
		want    catalog.Fragment // without nodes: as it was
	}{
		{"nothing yet", members([]uint32{1, 2, 3}), catalog.Fragment{}},
		{"being filled", members([]uint32{1, 2, 3}, 4), catalog.Fragment{}},
		{"joined", members([]uint32{1, 2, 3, 4}), catalog.Fragment{Nodes: []uint32{1, 2, 3, 4}, Joining: []uint32{}, Leaving: []uint32{3}}},
		{"left", members([]uint32{1, 2, 4}), catalog.Fragment{Nodes: []uint32{1, 2, 4}, Joining: []uint32{}}},
		{"not known", nil, catalog.Fragment{}},
	} {
		got := f.Clone()
		changed := arrived(got, c.members)
		if changed != (c.want.Nodes != nil) || changed && !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %v, %+v", c.name, changed, *got)
		}
	}
}
