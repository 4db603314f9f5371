package storage

import (
	"encoding/binary"
	"testing"

	"github.com/sherddb/sherd/storage/logentry"
)

// TestMemoryOfSummary bounds what a prepared large transaction holds of each key that it writes.
func TestMemoryOfSummary(t *testing.T) {
	const keys = 200_000
	var summary keySummary
	var entry []byte
	for i := range keys {
		key := binary.BigEndian.AppendUint64(rowKey(i), uint64(i))
		entry = logentry.AppendOp(entry[:0], logentry.OpDelete, key, nil)
		if err := summary.add(entry); err != nil {
			t.Fatal(err)
		}
	}
	summary.seal()
	check := func(what string, bytes, most int) {
		t.Helper()
		if bytes > most*keys {
			t.Errorf("%s takes %.1f bytes of a key, more than %d", what, float64(bytes)/keys, most)
		}
	}
	bytes := 0
	for _, l := range summary.hashes.lists {
		bytes += 4 * cap(l)
	}
	check("the summary", bytes, 6)
	for i := range keys {
		key := binary.BigEndian.AppendUint64(rowKey(i), uint64(i))
		if !summary.writes(key) {
			t.Fatalf("the summary misses key %d", i)
		}
	}
	wrong := 0
	for i := keys; i < 2*keys; i++ {
		if summary.writes(binary.BigEndian.AppendUint64(rowKey(i), uint64(i))) {
			wrong++
		}
	}
	if wrong > 20 {
		t.Errorf("the summary takes %d of %d keys for its own", wrong, keys)
	}
}
