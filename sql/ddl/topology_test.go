package ddl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// Each case is a value of RANGES, and the resulting map of fragments 1, 2, … or a part of the
// error.
func TestRanges(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0-349525,349525-699050,699050-1048576", "1:[0,349525) 2:[349525,699050) 3:[699050,1048576)"},
		{" 0 - 349525 , 349525-1048576 ", "1:[0,349525) 2:[349525,1048576)"},
		{"[0,500000) [500000,1048576)", "1:[0,500000) 2:[500000,1048576)"},
		{"0:0-100, 1:100-200, 0:200-1048576", "1:[0,100) 2:[100,200) 1:[200,1048576)"},
		{"1:[0,100) 0:[100,1048576)", "2:[0,100) 1:[100,1048576)"},
		{"0-1048576", "1:[0,1048576)"},
		{"0-349524,349525-1048576", "cover the buckets exactly once"},
		{"0-10,5-1048576", "cover the buckets exactly once"},
		{"0-1048577", "cover the buckets exactly once"},
		{"0-10 0:10-1048576", "invalid value"}, {"0-349525,…", "invalid value"}, {"0-5x", "invalid value"},
		{"", "names no range"}, {"0-12345678", "invalid value"},
		{"0:0-100, 5:100-1048576", "other fragments than the database has"},
	} {
		topo := topology{}
		var err error
		if topo.ranges, err = readRanges(c.text); err == nil {
			err = topo.check()
		}
		if err != nil {
			if !strings.Contains(pgerr.From(err).Message, c.want) {
				t.Errorf("%q: %v", c.text, err)
			}
			continue
		}
		ids := make([]shardmap.FragmentID, topo.fragments)
		for i := range ids {
			ids[i] = shardmap.FragmentID(i + 1)
		}
		m, err := topo.bucketMap(ids)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range m.Ranges() {
			got = append(got, fmt.Sprintf("%d:%v", r.Fragment, r.Interval))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q: %s", c.text, s)
		}
	}
}
