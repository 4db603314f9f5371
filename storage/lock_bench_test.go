package storage

import (
	"context"
	"testing"

	"github.com/sherddb/sherd/txn"
)

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
