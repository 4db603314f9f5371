package main

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// machineMemory returns the number of bytes of memory that this process may use: the machine's
// memory, or the lowest limit of its control groups.
func machineMemory() (int64, error) { return memoryUnder("/") }

// memoryUnder is machineMemory for a file system with another root.
func memoryUnder(root string) (int64, error) {
	least := int64(math.MaxInt64)
	text, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err == nil {
		if kb := fieldOf(text, "MemTotal:"); kb > 0 {
			least = kb << 10
		}
	}
	groups, gerr := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if gerr == nil {
		for line := range strings.Lines(string(groups)) {
			least = min(least, groupLimit(root, strings.TrimSpace(line)))
		}
	}
	if least == math.MaxInt64 {
		if err == nil {
			err = errors.New("neither /proc/meminfo nor a control group says so")
		}
		return 0, err
	}
	return least, nil
}

// fieldOf returns the number after a name in a file with lines "name number unit", 0 if there is
// none.
func fieldOf(text []byte, name string) int64 {
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if f := strings.Fields(s.Text()); len(f) > 1 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}

// groupLimit returns the lowest limit of the control group in one line of /proc/self/cgroup,
// "number:controllers:path", and of the groups above it. In a container the path may be that of the
// host, and only the root of the mount is visible.
func groupLimit(root, line string) int64 {
	parts := strings.SplitN(line, ":", 3)
	if len(parts) != 3 {
		return math.MaxInt64
	}
	mount, file := "", ""
	switch {
	case parts[0] == "0" && parts[1] == "": // version 2
		mount, file = filepath.Join(root, "sys/fs/cgroup"), "memory.max"
	case slices.Contains(strings.Split(parts[1], ","), "memory"):
		mount, file = filepath.Join(root, "sys/fs/cgroup/memory"), "memory.limit_in_bytes"
	default:
		return math.MaxInt64
	}
	least := int64(math.MaxInt64)
	for dir := filepath.Clean("/" + parts[2]); ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(mount, dir, file)); err == nil {
			// "max", and the number that means the same in version 1, are no limits.
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
		}
		if dir == "/" {
			return least
		}
	}
}
