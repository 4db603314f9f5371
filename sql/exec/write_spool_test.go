package exec

import (
	"fmt"
	"testing"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
)

func TestWriteSpool(t *testing.T) {
	s := writeSpool{Spool: spool.Spool{Mem: memory.New(8 << 20).WithFiles(t.TempDir())}}
	defer s.Free()
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
