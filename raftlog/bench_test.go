package raftlog

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// BenchmarkGroups appends entries of 256 bytes to several groups at once, with one call under way
// for each, as Raft does it: in one raft-wal per group, and in one device.
func BenchmarkGroups(b *testing.B) {
	for _, groups := range []int{1, 3, 32} {
		b.Run(fmt.Sprint("device/", groups), func(b *testing.B) {
			d := openDevice(b, b.TempDir(), 0)
			var logs []raft.LogStore
			for i := range groups {
				logs = append(logs, openGroup(b, d, uint64(i)))
			}
			appendAll(b, logs)
		})
		b.Run(fmt.Sprint("raft-wal/", groups), func(b *testing.B) {
			dir := b.TempDir()
			var logs []raft.LogStore
			for i := range groups {
				sub := filepath.Join(dir, fmt.Sprint(i))
				w, err := openWAL(sub)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { w.Close() })
				logs = append(logs, w)
			}
			appendAll(b, logs)
		})
	}
}

// appendAll appends b.N times five entries, about what 16 clients write to each of three groups.
func appendAll(b *testing.B, logs []raft.LogStore) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for _, s := range logs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			next := uint64(1)
			for left.Add(-1) >= 0 {
				var batch []*raft.Log
				for range 5 {
					batch = append(batch, &raft.Log{Index: next, Term: 1, Data: make([]byte, 256)})
					next++
				}
				if err := s.StoreLogs(batch); err != nil {
					b.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	b.ReportMetric(float64(5*b.N)/b.Elapsed().Seconds(), "entries/s")
}

func openWAL(dir string) (*wal.WAL, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return wal.Open(dir, wal.WithSegmentSize(16<<20))
}
