package shardmap

import "testing"

// TestValueBucket freezes the hash: entries on disk lie by it.
func TestValueBucket(t *testing.T) {
	for text, want := range map[string]Bucket{"": 0x8e999, "\x40a\x00\x01": 718296, "\x29\x05\xff": 26751} {
		if got := ValueBucket([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
