package engine

import (
	"os"
	"path/filepath"
	"testing"
)

// TestVerifyTables: a sound database has no faults, and a changed byte, a missing file and a table
// that is cut off are each one.
func TestVerifyTables(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	e, err := Open(newDisk(plenty).options(dir, stop))
	if err != nil {
		t.Fatal(err)
	}
	fillLevelZero(t, e, 2)
	close(stop)
	if err := e.Close(true); err != nil {
		t.Fatal(err)
	}
	verify := func(dir string) (n int, faults []TableFault) {
		t.Helper()
		read := 0
		n, faults, err := VerifyTables(t.Context(), dir, func(int64) { read++ })
		if err != nil || read != n {
			t.Errorf("%d tables, %d read, %v", n, read, err)
		}
		return n, faults
	}
	if n, faults := verify(dir); n < 2 || len(faults) != 0 {
		t.Errorf("%d tables, %v", n, faults)
	}
	for name, damage := range map[string]func(path string, b []byte) error{
		"a changed byte": func(path string, b []byte) error { b[100]++; return os.WriteFile(path, b, 0o600) },
		"no file":        func(path string, _ []byte) error { return os.Remove(path) },
		"cut off":        func(path string, b []byte) error { return os.WriteFile(path, b[:len(b)/2], 0o600) },
		"empty":          func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
	} {
		at := copied(t, dir)
		tables, err := filepath.Glob(filepath.Join(at, "data", "*.sst"))
		if err != nil || len(tables) == 0 {
			t.Fatal(tables, err)
		}
		b, err := os.ReadFile(tables[0])
		if err == nil {
			err = damage(tables[0], b)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, faults := verify(at); len(faults) != 1 ||
			faults[0].File != filepath.Join("data", filepath.Base(tables[0])) {
			t.Errorf("%s: %v", name, faults)
		}
	}
	if n, faults := verify(t.TempDir()); n != 0 || faults != nil {
		t.Errorf("no database: %d, %v", n, faults)
	}
}

// FuzzVerifyTable verifies any bytes: it must return, with or without a fault, and not panic.
func FuzzVerifyTable(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("index\x00\x00\x00\x05\x08\x01\x10\x07\x00\x00\x00\x04"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = verifyTable(b)
	})
}
