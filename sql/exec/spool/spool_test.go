package spool

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// TestSpool keeps few rows, which stay in memory, and many, which do not.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{0, 3, 40_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			mem := memory.New(8 << 20).WithFiles(dir)
			rows := NewRows(mem)
			row := func(i int) types.Row {
				return types.Row{types.NewInt(int64(-i)), types.Null, types.NewText(strings.Repeat("x", i%300)), types.NewBool(i%2 == 0)}
			}
			for i := range n {
				if err := rows.Keep(row(i)); err != nil {
					t.Fatal(err)
				}
			}
			i := 0
			err := rows.Emit(func() error { return nil }, func(got types.Row) error {
				for j, want := range row(i) {
					if got[j] != want {
						return fmt.Errorf("row %d, column %d: %v, not %v", i, j, got[j], want)
					}
				}
				i++
				return nil
			})
			if err != nil || i != n {
				t.Fatal(i, err)
			}
			rows.Free()
			if mem.Used() != 0 {
				t.Errorf("%d bytes are not given back", mem.Used())
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Error(left, err)
			}
		})
	}
}
