package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/dirsync"
)

const (
	lostFile   = "lost-nodes"
	lostHeader = "Sherd lost nodes 1" // V1
)

// DeclareLost records in the data directory of a stopped node that unsafe recovery continues
// without some nodes. When it returns, the record is on disk. From its next start on, the node
// refuses these nodes and declares them lost in the catalog.
func DeclareLost(dir string, nodes []uint32) error {
	before, err := readLost(dir)
	if err != nil {
		return err
	}
	nodes = slices.Concat(before, nodes)
	slices.Sort(nodes)
	var b strings.Builder
	b.WriteString(lostHeader + "\n")
	for _, n := range slices.Compact(nodes) {
		fmt.Fprintf(&b, "%d\n", n)
	}
	b.WriteString("end\n")
	path := filepath.Join(dir, lostFile)
	if err := writeSynced(path+".new", b.String()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return dirsync.Sync(dir)
}

func writeSynced(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// LostNodes returns the nodes that DeclareLost recorded and that may be missing in the catalog.
func (d *DataDir) LostNodes() ([]uint32, error) { return readLost(d.Path) }

// ForgetLost removes the record of DeclareLost, once the catalog has it.
func (d *DataDir) ForgetLost() error {
	if err := os.Remove(d.Join(lostFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return dirsync.Sync(d.Path)
}

func readLost(dir string) (nodes []uint32, err error) {
	path := filepath.Join(dir, lostFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	if n := len(lines); n < 3 || lines[0] != lostHeader || lines[n-2] != "end" || lines[n-1] != "" {
		return nil, fmt.Errorf("%s is damaged, or was written by a newer release", path)
	}
	for _, l := range lines[1 : len(lines)-2] {
		var n uint32
		if _, err := fmt.Sscanf(l, "%d", &n); err != nil {
			return nil, fmt.Errorf("%s is damaged: %q is not the number of a node", path, l)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}
