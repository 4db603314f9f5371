package storage

import (
	"context"
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// fragments opens n replicas as one process would.
func fragments(b testing.TB, n int) []*Replica {
	b.Helper()
	peers, clock, dead := NewPeers(), txn.NewClock(nil, 0), txn.NewDetector()
	var rs []*Replica
	for i := range n {
		r := openTest(b, b.TempDir(), func(c *Config) {
			c.Fragment, c.Clock, c.Deadlock = FragmentID(i+1), clock, dead
			c.Others.Outcome, c.Others.Prepared, c.Others.Resolve = peers.AskOutcome, peers.AskPrepared, peers.SendResolve
		})
		peers.Add(r)
		rs = append(rs, r)
	}
	return rs
}

const benchRows = 100_000

func fill(b testing.TB, rs []*Replica, rows, size int, index bool) {
	b.Helper()
	var wg sync.WaitGroup
	for f, r := range rs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			ctx := context.Background()
			tx := r.Tx(txn.NewID())
			rnd := rand.New(rand.NewSource(int64(f)))
			value := make([]byte, size)
			for i := f; i < rows; i += len(rs) {
				key := rowKey(i)
				rnd.Read(value)
				if err := tx.LockNewest(ctx, key); err != nil {
					b.Error(err)
					return
				}
				if old, err := tx.Newest(ctx, key); old != nil || err != nil {
					b.Errorf("row is there already: %v", err)
					return
				}
				if err := tx.Put(key, value); err != nil {
					b.Error(err)
					return
				}
				if index {
					tx.Put(append(keyspace.IndexPrefix(20000, 1), fmt.Sprintf("row-%06d", i)...), key[8:11])
				}
			}
			if _, err := tx.Commit(ctx, txn.CommitRequest{}); err != nil {
				b.Error(err)
			}
		}()
	}
	wg.Wait()
}

func BenchmarkPointRead(b *testing.B) {
	rs := fragments(b, 3)
	fill(b, rs, benchRows, 300, true)
	b.ReportAllocs()
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		rnd := rand.New(rand.NewSource(rand.Int63()))
		for pb.Next() {
			i := rnd.Intn(benchRows)
			if v, err := tryRead(rs[i%3], rowKey(i)); err != nil || len(v) != 300 {
				b.Errorf("row %d: %d bytes, %v", i, len(v), err)
				return
			}
		}
	})
}

func BenchmarkCommit16(b *testing.B) {
	rs := fragments(b, 3)
	fill(b, rs, benchRows, 300, true)
	b.ReportAllocs()
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	var conflicts atomic.Int64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		rnd := rand.New(rand.NewSource(rand.Int63()))
		value := make([]byte, 300)
		for pb.Next() {
			i := rnd.Intn(benchRows)
			if _, err := tryRow(rs[i%3], rowKey(i), string(value)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(conflicts.Load()), "conflicts")
}

func BenchmarkCommitTwoFragments16(b *testing.B) {
	rs := fragments(b, 3)
	co := &txn.Coordinator{Clock: rs[0].cfg.Clock}
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		ctx := context.Background()
		rnd := rand.New(rand.NewSource(rand.Int63()))
		for pb.Next() {
			id := txn.NewID()
			i := rnd.Intn(benchRows) / 3 * 3
			x, y := rs[0].Tx(id), rs[1].Tx(id)
			for j, tx := range []*Tx{x, y} {
				key := rowKey(i + j)
				if err := tx.LockNewest(ctx, key); err != nil {
					b.Error(err)
					return
				}
				tx.Put(key, key)
			}
			if _, err := co.Commit(ctx, id, 0, []txn.Participant{x, y}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	rs := fragments(b, 1)
	fill(b, rs, benchRows, 300, true)
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	rows := 0
	for range b.N {
		T, _ := rs[0].Snapshot(ctx)
		v, err := rs[0].Tx(txn.NewID()).View(ctx, T)
		if err != nil {
			b.Fatal(err)
		}
		if err := v.Scan(ctx, keyspace.BucketSpan(20000, 0, 1<<20), false,
			func(k, v []byte) error { rows++; return nil }); err != nil {
			b.Fatal(err)
		}
		v.Close()
	}
	if rows != b.N*benchRows {
		b.Fatalf("%d rows", rows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}

// BenchmarkValidate has transactions that read ten rows validated, after something else was
// written.
func BenchmarkValidate(b *testing.B) {
	rs := fragments(b, 1)
	fill(b, rs, benchRows, 300, true)
	r, ctx, rnd := rs[0], context.Background(), rand.New(rand.NewSource(1))
	for i := range b.N {
		b.StopTimer()
		T, err := r.Snapshot(ctx)
		if err != nil {
			b.Fatal(err)
		}
		tx := r.Tx(txn.NewID())
		tx.TrackReads()
		v, err := tx.View(ctx, T)
		if err != nil {
			b.Fatal(err)
		}
		for range 10 {
			if _, err := v.Get(ctx, rowKey(rnd.Intn(benchRows))); err != nil {
				b.Fatal(err)
			}
		}
		v.Close()
		if _, err := tryRow(r, rowKey(benchRows+i), "x"); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := tx.Check(ctx, r.Applied()); err != nil {
			b.Fatal(err)
		}
		tx.Rollback()
	}
}

// BenchmarkBulk loads a million rows of 300 bytes, each with an index entry, in one transaction for
// each of three fragments.
func BenchmarkBulk(b *testing.B) {
	for range b.N {
		b.StopTimer()
		rs := fragments(b, 3)
		b.StartTimer()
		fill(b, rs, 1_000_000, 300, true)
		b.StopTimer()
		for _, r := range rs {
			r.Close()
		}
	}
}
