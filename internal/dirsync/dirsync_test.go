package dirsync

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestMake: what is made has its name synced before anything is made in it, and at the next time
// what a process may have left without.
func TestMake(t *testing.T) {
	root := t.TempDir()
	leaf := filepath.Join(root, "a", "b")
	var synced []string
	broken := error(nil)
	sync := func(dir string) error {
		if dir == filepath.Join(root, "a") && broken == nil {
			if _, err := os.Stat(leaf); err != nil {
				t.Errorf("synced before it is there: %v", err)
			}
		}
		synced = append(synced, dir)
		return broken
	}
	want := []string{filepath.Dir(root), root, filepath.Join(root, "a")}
	if err := makeDir(leaf, sync); err != nil || !slices.Equal(synced, want) {
		t.Fatalf("synced %q, %v; want %q", synced, err, want)
	}
	synced = nil
	if err := makeDir(leaf, sync); err != nil || !slices.Equal(synced, want[2:]) {
		t.Fatalf("once more: synced %q, %v", synced, err)
	}
	broken = syscall.EACCES // of a directory above that is not ours
	if err := makeDir(leaf, sync); err != nil {
		t.Fatal(err)
	}
	if err := makeDir(filepath.Join(root, "c"), sync); !errors.Is(err, syscall.EACCES) {
		t.Fatalf("made, and not durable: %v", err)
	}
	broken = syscall.EIO
	if err := makeDir(leaf, sync); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	file := filepath.Join(root, "file")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), Make(filepath.Join(root, "d", "e"))); err != nil {
		t.Fatal(err)
	}
	if err := Make(file); !errors.Is(err, syscall.ENOTDIR) {
		t.Fatal(err)
	}
}
