package subset

import (
	"slices"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/settings"
)

// TestFragments reads values of sherd.fragment: names and numbers, in any order.
func TestFragments(t *testing.T) {
	d := &catalog.Database{OID: 5, Name: "shop", Fragments: []catalog.Fragment{
		{ID: 7, Ordinal: 0}, {ID: 8, Ordinal: 1}, {ID: 12, Ordinal: 3},
	}}
	for _, test := range []struct {
		value string
		want  []shardmap.FragmentID
		code  string
	}{
		{value: "shop$0", want: []shardmap.FragmentID{7}},
		{value: " 3, shop$1 ", want: []shardmap.FragmentID{12, 8}},
		{value: ""},
		{value: "2", code: "22023"},
		{value: "shop$0, other$0", code: "22023"},
		{value: "01", code: "22023"},
	} {
		got, err := fragmentsOf(d, test.value)
		if pgerr.Code(err) != test.code {
			t.Errorf("%q: got SQLSTATE %q (%v), want %q", test.value, pgerr.Code(err), err, test.code)
		} else if !slices.Equal(got, test.want) {
			t.Errorf("%q: got fragments %d, want %d", test.value, got, test.want)
		}
	}
}

// TestCheck looks only at the parameter that names fragments.
func TestCheck(t *testing.T) {
	c, err := catalog.Open(catalog.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Bootstrap(t.Context(), catalog.BootstrapOptions{
		ClusterID: "test", Fragments: 2, Node: catalog.Node{ID: 1, Name: "n", Block: "A"},
	}); err != nil {
		t.Fatal(err)
	}
	r := &Reader{Database: catalog.PostgresDB}
	for _, test := range []struct{ name, value, code string }{
		{settings.Fragment, "postgres$1", ""},
		{"Sherd.Fragment", "postgres$9", "22023"},
		{"application_name", "postgres$9", ""},
	} {
		if err := r.Check(c.View(), test.name, test.value); pgerr.Code(err) != test.code {
			t.Errorf("SET %s = '%s': %v", test.name, test.value, err)
		}
	}
}
