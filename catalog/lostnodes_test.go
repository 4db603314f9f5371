package catalog

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLostNodesFile: what is noted of lost nodes is added to what was noted before, in a format that stays, and a file that cannot be read is an error: a node
// that went on without it would let lost nodes in.
func TestLostNodesFile(t *testing.T) {
	d := &DataDir{Path: t.TempDir()}
	for _, nodes := range [][]uint32{{5, 1}, {1, 2}} {
		if err := DeclareLost(d.Path, nodes); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(d.Path, "lost-nodes")
	if text, err := os.ReadFile(path); err != nil || string(text) != "Sherd lost nodes 1\n1\n2\n5\nend\n" {
		t.Errorf("%q, %v", text, err)
	}
	if got, err := d.LostNodes(); err != nil || !slices.Equal(got, []uint32{1, 2, 5}) {
		t.Errorf("%v, %v", got, err)
	}
	for range 2 {
		if err := d.ForgetLost(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := d.LostNodes(); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "Sherd lost nodes 2\n1\nend\n", "Sherd lost nodes 1\n1\n", "Sherd lost nodes 1\nx\nend\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.LostNodes(); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
