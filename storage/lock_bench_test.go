package storage

import (
	"context"
	"runtime"
	"testing"

	"github.com/sherddb/sherd/txn"
)

// BenchmarkContended is one row that 16 transactions at a time lock and change.
func BenchmarkContended(b *testing.B) {
	r := openTest(b, b.TempDir())
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := tryRow(r, rowKey(1), "x"); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkLock locks 64 free rows in a transaction, and lets them go.
func BenchmarkLock(b *testing.B) {
	r := openTest(b, b.TempDir())
	ctx := context.Background()
	keys := make([][]byte, 64)
	for i := range keys {
		keys[i] = rowKey(i)
	}
	req := txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp}
	b.ReportAllocs()
	for b.Loop() {
		tx := r.Tx(txn.NewID())
		for _, k := range keys {
			if _, err := tx.Lock(ctx, k, req); err != nil {
				b.Fatal(err)
			}
		}
		tx.Rollback()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/lock")
}
