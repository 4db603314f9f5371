package catalog

import (
	"reflect"
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

// resegmentOps are a range table of which the balancer has split a segment, and a plan of splits and merges.
func resegmentOps() []op {
	t := segmentOps()[0].desc.(*Table).Clone()
	t.Segments = append(t.Segments, shardmap.Segment{Start: []byte{0x90}, Bucket: 1<<20 + 5, Automatic: true})
	j := NewPlanJob(4, 5, &Plan{Epoch: 7, Who: "sherd", Steps: []PlanStep{
		{Kind: SplitStep, Source: 1, Target: 1, Table: 16385, First: 1 << 20, Last: 1 << 20, Count: 1, Keys: JoinKeys([][]byte{{0x70}, {0x75, 0}}), What: "events: split at 1, 2"},
		{Kind: MergeStep, Source: 2, Target: 2, Table: 16385, First: 1<<20 + 2, Last: 1<<20 + 5, Count: 2, What: "events: merged at 7", Job: 9},
	}}, 78)
	return []op{{kind: putOp, key: keyOf(t), desc: t}, {kind: putOp, key: keyOf(j), desc: j}}
}

func TestPlanOfSegmentsFormat(t *testing.T) {
	data, err := encodeBatch(resegmentOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "plan-segments.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, resegmentOps()) {
		t.Fatalf("%+v, %v", e.ops, err)
	}
	p, err := e.ops[1].desc.(*Job).Plan()
	if err != nil {
		t.Fatal(err)
	}
	table := e.ops[0].desc.(*Table)
	if got := p.Steps[1].segments(table); len(got) != 2 || got[1].Bucket != 1<<20+5 {
		t.Errorf("the segments that are merged: %v", got)
	}
	if keys := p.Steps[0].SplitKeys(); len(keys) != 2 || len(keys[1]) != 2 {
		t.Errorf("keys %v", keys)
	}
	for what, s := range map[string]PlanStep{
		"one that is gone": {Kind: SplitStep, First: 77, Last: 77, Count: 1}, "another between": {Kind: MergeStep, First: 1 << 20, Last: 1<<20 + 5, Count: 2},
		"behind the end": {Kind: MergeStep, First: 1<<20 + 5, Last: 1<<20 + 5, Count: 2},
	} {
		if got := s.segments(table); got != nil {
			t.Errorf("%s: %v", what, got)
		}
	}
	for _, s := range []PlanStep{
		{Kind: SplitStep, Table: 1, Count: 1, Keys: "zz"}, {Kind: SplitStep, Table: 1, Count: 1}, {Kind: MergeStep, Table: 1, Count: 1}, {Kind: MergeStep, Count: 2},
	} {
		if (&Plan{Steps: []PlanStep{s}}).check() == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}
