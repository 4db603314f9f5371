package verify

import (
	"slices"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/types"
)

// TestSplit checks that a document has all of its parts or none, as far as the missing parts are
// known.
func TestSplit(t *testing.T) {
	v := catalog.Counter{Column: 2}
	def := &catalog.Table{
		Columns: []catalog.Column{{AttNum: 1, Name: "id", Type: types.Text}, {AttNum: 2, Name: "v", Type: types.Int8}},
		Hot:     &catalog.Hot{Counters: []catalog.Counter{v}},
	}
	d := &catalog.HotDocument{Number: 1, ID: "x", Parts: []int64{11, 12, 13}}
	five, six := types.NumericFromInt(5), types.NumericFromInt(6)
	for _, c := range []struct {
		name   string
		parts  []int64
		base   types.Datum
		own    []types.Datum
		gone   bool
		unread []int64
		behind bool
		faults []string
		said   string
	}{
		{name: "whole", parts: []int64{11, 12, 13}, base: five, own: []types.Datum{five}, said: "1 documents, 3 parts"},
		{name: "a part is lost", parts: []int64{11, 13}, base: five, own: []types.Datum{five},
			faults: []string{"document x lacks its part 12"}},
		{name: "a part is elsewhere", parts: []int64{11, 13}, base: five, own: []types.Datum{five}, unread: []int64{12},
			said: "1 documents, 2 parts; 1 parts are not here, and were not checked"},
		{name: "one is lost, and the document is elsewhere", parts: []int64{11}, base: five, unread: []int64{13},
			faults: []string{"document x lacks its part 12"}},
		{name: "made again", own: []types.Datum{five},
			said: "0 documents, 0 parts; 1 without parts, which were deleted or made whole since"},
		{name: "none is here", own: []types.Datum{five}, unread: []int64{11},
			said: "0 documents, 0 parts; 1 parts are not here, and were not checked"},
		{name: "the document is lost", parts: []int64{11, 12}, base: five, gone: true,
			faults: []string{"document x does not exist, but its part 11 does",
				"document x does not exist, but its part 12 does"}},
		{name: "another base", parts: []int64{11, 12, 13}, base: six, own: []types.Datum{five}, faults: []string{
			"part 11 of document x does not know what the document says of v",
			"part 12 of document x does not know what the document says of v",
			"part 13 of document x does not know what the document says of v"}},
		{name: "nothing to add to", parts: []int64{11, 12, 13}, base: types.Null, own: []types.Datum{types.Null},
			said: "1 documents, 3 parts"},
		{name: "of no document", parts: []int64{99}, base: five, faults: []string{"part 99 is of no split document"}},
		{name: "of one that was not heard of", parts: []int64{99}, base: five, behind: true, unread: []int64{11},
			said: "0 documents, 1 parts; 1 parts are not here, and were not checked; 1 parts are of documents that " +
				"are not known here to be split"},
	} {
		parts := map[int64][]types.Datum{}
		for _, k := range c.parts {
			parts[k] = []types.Datum{types.NewInt(1), c.base}
		}
		s := NewSplit(def, parts)
		s.Document(d, c.own, c.gone, func(k int64) bool { return !slices.Contains(c.unread, k) })
		faults := s.End(!c.behind)
		if !slices.Equal(faults, c.faults) || faults == nil && s.Said() != c.said {
			t.Errorf("%s: %q, %q", c.name, faults, s.Said())
		}
	}
}
