package tablestats

import (
	"testing"

	"github.com/sherddb/sherd/sql/statistics"
)

// TestChanged checks how many rows have changed since a table was analyzed.
func TestChanged(t *testing.T) {
	total := func(fragment uint32, rows, written int64, term uint64) Total {
		return Total{Fragment: fragment, Storage: 7, Size: Size{Rows: rows}, Written: written, Term: term}
	}
	before := []Total{total(1, 500, 600, 3), total(2, 500, 500, 4)}
	analyzed := &statistics.Table{AnalyzedRows: 1000, Written: Counters(before)}
	for name, x := range map[string]struct {
		analyzed *statistics.Table
		totals   []Total
		want     int64
	}{
		"never analyzed":     {nil, before, 1100},
		"no rows":            {nil, nil, 0},
		"nothing changed":    {analyzed, before, 0},
		"updated":            {analyzed, []Total{total(1, 500, 650, 3), total(2, 500, 501, 4)}, 51},
		"deleted":            {analyzed, []Total{total(1, 450, 650, 3), total(2, 500, 500, 4)}, 50},
		"moved":              {analyzed, []Total{total(1, 400, 600, 3), total(2, 600, 500, 4)}, 0},
		"another leader":     {analyzed, []Total{total(1, 500, 20, 5), total(2, 500, 500, 4)}, 20},
		"leaders and rows":   {analyzed, []Total{total(1, 900, 20, 5), total(2, 500, 500, 4)}, 400},
		"a new fragment":     {analyzed, append([]Total{total(3, 40, 45, 1)}, before...), 45},
		"a fragment is gone": {analyzed, before[:1], 500},
		"truncated": {analyzed, []Total{
			{Fragment: 1, Storage: 8, Size: Size{Rows: 30}, Written: 30, Term: 3},
			{Fragment: 2, Storage: 8, Size: Size{Rows: 30}, Written: 30, Term: 4},
		}, 940},
		"an older release": {analyzed, []Total{total(1, 480, 0, 0), total(2, 500, 0, 0)}, 20},
		"no counters":      {&statistics.Table{AnalyzedRows: 1000}, []Total{total(1, 990, 5000, 3)}, 10},
	} {
		if got := Changed(x.analyzed, x.totals); got != x.want {
			t.Errorf("%s: got %d, want %d", name, got, x.want)
		}
	}
}
