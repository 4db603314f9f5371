package exec

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
			rows := rowSpool{spool: spool{mem: mem}}
			row := func(i int) types.Row {
				return types.Row{types.NewInt(int64(-i)), types.Null, types.NewText(strings.Repeat("x", i%300)), types.NewBool(i%2 == 0)}
			}
			for i := range n {
				if err := rows.keep(row(i)); err != nil {
					t.Fatal(err)
				}
			}
			i := 0
			err := rows.emit(&Ctx{}, func(got types.Row) error {
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
			rows.free()
			if mem.Used() != 0 {
				t.Errorf("%d bytes are not given back", mem.Used())
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Error(left, err)
			}
		})
	}
}

func TestWriteSpool(t *testing.T) {
	s := writeSpool{spool: spool{mem: memory.New(8 << 20).WithFiles(t.TempDir())}}
	defer s.free()
	write := func(i int) Write {
		return Write{Kind: WriteEntry, Key: fmt.Appendf(nil, "key %d", i), Value: []byte{byte(i)}, Row: make([]byte, i%500), Index: i % 7, Exclusive: i%2 == 0}
	}
	const n = 20_000
	for i := range n {
		w := write(i)
		if err := s.keep(uint32(i), &w); err != nil {
			t.Fatal(err)
		}
	}
	i := 0
	err := s.writes(func(bucket uint32, w Write) error {
		if want := write(i); fmt.Sprint(w) != fmt.Sprint(want) || bucket != uint32(i) {
			return fmt.Errorf("write %d is %v in %d, not %v", i, w, bucket, want)
		}
		i++
		return nil
	})
	if err != nil || i != n {
		t.Fatal(i, err)
	}
}
