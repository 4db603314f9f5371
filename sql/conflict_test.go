package sql_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	stamps   = regexp.MustCompile(`(at|of) [-0-9:.TZ+ ]*\d`)
	ordinals = regexp.MustCompile(`ransaction \d+`)
)

// masked replaces numbers of transactions and times in an answer.
func masked(s string) string {
	return ordinals.ReplaceAllString(stamps.ReplaceAllString(s, "$1 TIME"), "ransaction N")
}

// TestLogLockWaits: with log_lock_waits, a wait for a row that lasts deadlock_timeout is logged,
// and so is its end.
func TestLogLockWaits(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE lw (id int PRIMARY KEY, v int); INSERT INTO lw VALUES (1, 1)", "CREATE TABLE\nINSERT 0 1")
	b.want("SET log_lock_waits = on; SET deadlock_timeout = '1ms'", "SET\nSET")
	a.want("BEGIN; UPDATE lw SET v = 2", "BEGIN\nUPDATE 1")
	done := b.background(w, "UPDATE lw SET v = 3")
	for !strings.Contains(w.log.String(), "still waiting for a lock") {
		time.Sleep(time.Millisecond)
	}
	a.want("COMMIT", "COMMIT")
	answers(t, done, "UPDATE 1")
	const row = `lock=row object="updating key (id)=(1) of relation \"lw\""`
	log := w.log.String()
	for _, want := range []string{`msg="still waiting for a lock" pid=2 ` + row, `blocked_by=[1]`,
		`msg="the wait for a lock is over" pid=2 ` + row} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
	before := len(log)
	a.want("BEGIN; UPDATE lw SET v = 2", "BEGIN\nUPDATE 1")
	b.want("SET log_lock_waits = off; SET lock_timeout = '20ms'; UPDATE lw SET v = 3",
		"SET\nSET\ncanceling statement due to lock timeout (SQLSTATE 55P03)")
	a.want("COMMIT", "COMMIT")
	if after := w.log.String()[before:]; strings.Contains(after, "lock") {
		t.Errorf("logged: %s", after)
	}
}
