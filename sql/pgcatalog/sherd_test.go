package pgcatalog

import (
	"slices"
	"testing"
)

// TestOwnNumbers checks that no two of Sherd's own functions or views have the same OID. Otherwise,
// the columns of two views would be merged.
func TestOwnNumbers(t *testing.T) {
	procs, views := map[uint32]string{}, map[uint32]string{}
	check := func(p *Proc) {
		if other, there := procs[p.OID]; there {
			t.Errorf("functions %s and %s have OID %d", p.Name, other, p.OID)
		}
		procs[p.OID] = p.Name
	}
	for _, p := range sherdProcs() {
		check(p)
	}
	ix := &index{namespaces: map[uint32]string{}}
	if err := scan("sherd_proc", func(r *record) { check(ix.proc(r)) }); err != nil {
		t.Fatal(err)
	}
	for _, v := range slices.Concat(sherdViews, planViews, topologyViews, zoneViews, prefixViews, idViews,
		segmentViews) {
		if other, there := views[v.OID]; there {
			t.Errorf("views %s and %s have OID %d", v.Name, other, v.OID)
		}
		views[v.OID] = v.Name
	}
}
