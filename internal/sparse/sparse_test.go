package sparse_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sherddb/sherd/internal/sparse"
)

// TestDir copies files with data at the beginning, in the middle, at the end and nowhere, and
// compares every byte.
func TestDir(t *testing.T) {
	const size = 1<<20 + 5
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	written := map[string][]int64{
		"empty": nil, "hole": nil, "begin": {0}, "sub/middle": {300_000}, "sub/deep/end": {size - 3},
		"many": {7, 65_535, 131_072, 700_001},
	}
	for name, places := range written {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if name != "empty" {
			err = f.Truncate(size)
		}
		for _, at := range places {
			_, werr := f.WriteAt([]byte("abc"), at)
			err = errors.Join(err, werr)
		}
		if err := errors.Join(err, f.Close(), os.Chmod(path, 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	if err := sparse.Dir(to, from); err != nil {
		t.Fatal(err)
	}
	for name := range written {
		want, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes differ from %d: %v", name, len(got), len(want), err)
		}
		if info, err := os.Stat(filepath.Join(to, name)); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestRefused: nothing is written over, and what is not there is said.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sparse.File(there, there); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if err := sparse.Dir(filepath.Join(dir, "copy"), filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	if got, _ := os.ReadFile(there); string(got) != "mine" {
		t.Errorf("the file has %q", got)
	}
}
