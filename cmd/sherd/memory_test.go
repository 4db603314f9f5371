package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestMemoryFlag reads percentages and sizes, and refuses what is neither.
func TestMemoryFlag(t *testing.T) {
	const machine = 16 << 30
	for text, want := range map[string]int64{
		"50%": 8 << 30, " 25 % ": 4 << 30, "12.5%": 2 << 30, "100%": machine, "0.1%": leastMemory,
		"4GB": 4 << 30, "4GiB": 4 << 30, "1.5 GB": 3 << 29, "512MB": 512 << 20, "131072kB": 128 << 20,
		"67108864B": 64 << 20, "1TB": 1 << 40,
	} {
		m := defaultMemory()
		if err := m.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := m.limit(machine); got != want {
			t.Errorf("%s stands for %d bytes, want %d", text, got, want)
		}
		again := defaultMemory()
		if err := again.Set(m.String()); err != nil || again != m {
			t.Errorf("%s is shown as %s, which is read as %+v (%v)", text, m.String(), again, err)
		}
	}
	for _, text := range []string{
		"", "half", "0%", "-1%", "101%", "NaN%", "%", "4", "4G", "GB", "-4GB", "63MB", "1e30GB", "NaNGB",
	} {
		m := defaultMemory()
		if err := m.Set(text); err == nil {
			t.Errorf("%q is taken as %+v", text, m)
		}
		if m != defaultMemory() {
			t.Errorf("%q has changed the flag", text)
		}
	}
}

// TestMachineMemory finds the least limit of the machine and of the control groups, of both
// versions, that a process is in.
func TestMachineMemory(t *testing.T) {
	const meminfo = "MemTotal:       16777216 kB\nMemFree:         1000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"machine": {map[string]string{"proc/meminfo": meminfo}, 16 << 30},
		"v2": {
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
				"sys/fs/cgroup/a/b/memory.max": "4294967296\n", "sys/fs/cgroup/a/memory.max": "max\n",
			}, 4 << 30,
		},
		"v2 parent": {
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
				"sys/fs/cgroup/a/memory.max": "2147483648\n",
			}, 2 << 30,
		},
		"v2 container": {
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n",
			}, 1 << 30,
		},
		"v2 unlimited": {
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
			}, 16 << 30,
		},
		"v1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:devices:/x\n4:memory:/x\n0::/\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "3221225472\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 3 << 30},
		"v1 container": {
			map[string]string{
				"proc/meminfo": meminfo, "proc/self/cgroup": "4:cpu,memory:/docker/1f\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "3221225472\n",
			}, 3 << 30,
		},
		"no meminfo": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n"},
			1 << 30},
		"nothing": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for path, text := range c.files {
				if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := memoryUnder(root)
			if got != c.want || (err == nil) != (c.want > 0) {
				t.Errorf("%d bytes, want %d (%v)", got, c.want, err)
			}
		})
	}
}

// TestPercentOf lets a small heap grow to the same size however little lives, and a larger one to
// twice its live heap.
func TestPercentOf(t *testing.T) {
	for _, x := range []struct {
		live int64
		want int
	}{{0, 1000}, {8, 1000}, {16, 600}, {28, 300}, {56, 100}, {80, 100}, {112, 100}, {4000, 100}} {
		if got := percentOf(x.live << 20); got != x.want {
			t.Errorf("with %d MiB live the percentage is %d, want %d", x.live, got, x.want)
		}
	}
}

// TestAfterCollections expects one call for each collection.
func TestAfterCollections(t *testing.T) {
	told := make(chan struct{})
	afterCollections(func() {
		select {
		case told <- struct{}{}:
		case <-t.Context().Done():
		}
	})
	for range 3 {
		for ended := false; !ended; {
			runtime.GC()
			select {
			case <-told:
				ended = true
			default:
				runtime.Gosched()
			}
		}
	}
}
