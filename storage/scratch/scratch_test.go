package scratch

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TestCreate: a file can be used, and its directory is empty.
func TestCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stage")
	f, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
	if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
}

// TestErrors: clients are told a full disk from a broken one.
func TestErrors(t *testing.T) {
	for err, code := range map[error]string{
		Failed(&os.PathError{Op: "write", Err: syscall.ENOSPC}): pgerr.DiskFull,
		Failed(fmt.Errorf("write: %w", syscall.EDQUOT)):         pgerr.DiskFull,
		Failed(syscall.EIO): pgerr.IOError,
		Damaged(7):          pgerr.DataCorrupted,
	} {
		if !pgerr.Is(err, code) {
			t.Errorf("%v is not %s", err, code)
		}
	}
}
