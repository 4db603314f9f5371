package truncation

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestRetention(t *testing.T) {
	var k retention
	now := time.Now()
	want := func(last, upTo uint64) {
		t.Helper()
		if got := k.bound(last, now); got != upTo {
			t.Errorf("last %d: cut up to %d, not %d", last, got, upTo)
		}
	}
	want(100, 0)
	want(retainEntries+7, 7)
	k.grown(50)
	want(100, 0)
	k.grown(90)
	want(100, 50) // many bytes in few entries
	k.grown(95)
	want(100, 90)
	rd := k.stream(60, io.NopCloser(strings.NewReader("")))
	want(1<<20, 60)
	rd.Close()
	want(1<<20, 60) // the follower is on its way
	now = now.Add(2 * retainStream)
	want(1<<20, 1<<20-retainEntries)
}
