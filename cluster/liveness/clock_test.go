package liveness

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/txn"
)

func TestBelieved(t *testing.T) {
	now, ahead := time.Now(), 10*time.Second
	heard := func(offsets ...time.Duration) (out []Health) {
		for i, o := range offsets {
			out = append(out, Health{Node: uint32(i + 2), LastSeen: now.Add(-time.Second), Clock: txn.FromTime(now.Add(o - time.Second))})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		others []Health
		want   time.Duration // after now; negative: nothing
	}{
		{"alone", nil, -1},
		{"of two nobody knows who is right", heard(-time.Hour), -1},
		{"the others agree", heard(0, 0), ahead},
		{"one is behind", heard(0, -time.Hour), ahead},
		{"one is ahead", heard(0, time.Hour), ahead + time.Hour},
		{"of five, two are ahead", heard(time.Hour, 0, time.Hour, 0), ahead + time.Hour},
		{"of five, one is ahead", heard(time.Hour, 0, 0, 0), ahead},
		{"never heard of", append(heard(0), Health{Node: 9}), -1},
	} {
		from, got := believed(c.others, now, ahead)
		if c.want < 0 != got.IsZero() || c.want >= 0 && got.Sub(now.Add(c.want)).Abs() > time.Millisecond {
			t.Errorf("%s: %s", c.name, got.Sub(now))
		}
		if c.want >= 0 && from.After(got) {
			t.Errorf("%s: from %s", c.name, from.Sub(now))
		}
	}
}
