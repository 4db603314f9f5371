package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql"
)

// TestLocks plays scripts of sessions that stand in each other's way; everything shares one cluster, each case has a table of its own.
func TestLocks(t *testing.T) {
	w := newWorld(t)
	for name, run := range map[string]func(t *testing.T, w *world, a, b *client, table string){
		"lock_table":      lockTable,
		"lock_errors":     lockErrors,
		"lock_timeouts":   lockTimeouts,
		"lock_savepoints": lockSavepoints,
		"advisory":        advisory,
		"advisory_waits":  advisoryWaits,
		"deadlock":        deadlockOfKinds,
		"activity":        activity,
		"cancel":          cancelOther,
		"lock_views":      lockViews,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := w.connect(t), w.connect(t)
			a.want("CREATE TABLE "+name+" (id int PRIMARY KEY, v int)", "CREATE TABLE")
			a.want("INSERT INTO "+name+" SELECT g, g FROM generate_series(1, 3) g", "INSERT 0 3")
			run(t, w, a, b, name)
		})
	}
}

// background runs a statement that will wait for a lock, and returns when it does.
func (c *client) background(w *world, text string) chan string {
	c.t.Helper()
	done := make(chan string, 1)
	pid := c.pid()
	go func() { done <- c.answer(text) }()
	watch := w.connect(c.t)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if watch.answer(fmt.Sprintf("SELECT cardinality(pg_blocking_pids(%d)) > 0", pid)) == "t\nSELECT 1" {
			return done
		}
		select {
		case got := <-done:
			c.t.Fatalf("%s did not wait: %s", text, got)
		default:
		}
	}
	c.t.Fatalf("%s does not wait", text)
	return nil
}

func (c *client) pid() int {
	var pid int
	_, _ = fmt.Sscan(c.answer("SELECT pg_backend_pid()"), &pid)
	return pid
}

func lockTable(t *testing.T, w *world, a, b *client, table string) {
	const none = `could not obtain lock on relation "lock_table" (SQLSTATE 55P03)`
	a.want("BEGIN; LOCK TABLE "+table+" IN SHARE MODE", "BEGIN\nLOCK TABLE")
	b.want("SELECT count(*) FROM "+table, "3\nSELECT 1")
	b.want("BEGIN; LOCK "+table+" IN ROW EXCLUSIVE MODE NOWAIT", "BEGIN\n"+none)
	b.want("ROLLBACK", "ROLLBACK")
	b.want("BEGIN; LOCK "+table+" IN SHARE MODE NOWAIT; COMMIT", "BEGIN\nLOCK TABLE\nCOMMIT")
	insert := b.background(w, "INSERT INTO "+table+" VALUES (4, 4)")
	b2 := w.connect(t)
	b2.want("SELECT mode, granted FROM pg_locks WHERE relation = '"+table+"'::regclass ORDER BY granted", "RowExclusiveLock|f\nShareLock|t\nSELECT 2")
	a.want("COMMIT", "COMMIT")
	if got := <-insert; got != "INSERT 0 1" {
		t.Error(got)
	}
	// A SELECT waits for ACCESS EXCLUSIVE alone.
	a.want("BEGIN; LOCK "+table, "BEGIN\nLOCK TABLE")
	read := b.background(w, "SELECT count(*) FROM "+table)
	a.want("ROLLBACK", "ROLLBACK")
	if got := <-read; got != "4\nSELECT 1" {
		t.Error(got)
	}
}

func lockErrors(t *testing.T, w *world, a, b *client, table string) {
	a.want("LOCK TABLE "+table, "LOCK TABLE can only be used in transaction blocks (SQLSTATE 25P01)")
	a.want("LOCK TABLE "+table+"; SELECT 1", "LOCK TABLE\n1\nSELECT 1")
	a.want("BEGIN; LOCK TABLE nosuch", "BEGIN\n"+`relation "nosuch" does not exist (SQLSTATE 42P01)`)
	a.want("ROLLBACK; BEGIN; LOCK TABLE "+table+"_pkey", "ROLLBACK\nBEGIN\n"+`cannot lock relation "lock_errors_pkey" (SQLSTATE 42809): This operation is not supported for indexes.`)
	a.want("ROLLBACK; BEGIN READ ONLY; LOCK TABLE "+table+"; COMMIT", "ROLLBACK\nBEGIN\nLOCK TABLE\nCOMMIT")
	a.want("CREATE ROLE lock_bob LOGIN", "CREATE ROLE")
	bob := w.connectAs(t, "lock_bob", sql.Handle{})
	bob.want("BEGIN; LOCK TABLE "+table, "BEGIN\npermission denied for table lock_errors (SQLSTATE 42501)")
}

func lockTimeouts(t *testing.T, w *world, a, b *client, table string) {
	const late = "canceling statement due to lock timeout (SQLSTATE 55P03)"
	a.want("BEGIN; LOCK "+table+"; SELECT pg_advisory_xact_lock(900)", "BEGIN\nLOCK TABLE\n\nSELECT 1")
	b.want("SET lock_timeout = '1ms'", "SET")
	b.want("SELECT count(*) FROM "+table, late)
	b.want("SELECT pg_advisory_lock(900)", late)
	b.want("BEGIN; LOCK "+table+" IN ACCESS SHARE MODE", "BEGIN\n"+late)
	b.want("ROLLBACK; SET lock_timeout = 0", "ROLLBACK\nSET")
	b.want("BEGIN; SET LOCAL lock_timeout = '1ms'; SELECT pg_advisory_xact_lock_shared(900)", "BEGIN\nSET\n"+late)
	b.want("ROLLBACK; SHOW lock_timeout", "ROLLBACK\n0\nSHOW")
	b.want("SET statement_timeout = '20ms'", "SET")
	b.want("UPDATE "+table+" SET v = 0", "canceling statement due to statement timeout (SQLSTATE 57014)")
	b.want("SELECT pg_advisory_lock(900)", "canceling statement due to statement timeout (SQLSTATE 57014)")
	b.want("RESET statement_timeout; SELECT pg_try_advisory_lock(900)", "RESET\nf\nSELECT 1")
	a.want("ROLLBACK; BEGIN; UPDATE "+table+" SET v = 9 WHERE id = 1", "ROLLBACK\nBEGIN\nUPDATE 1")
	b.want("SET statement_timeout = '20ms'; UPDATE "+table+" SET v = 0 WHERE id = 1", "SET\ncanceling statement due to statement timeout (SQLSTATE 57014)")
	b.want("RESET statement_timeout; SET lock_timeout = '1ms'", "RESET\nSET")
	b.want("UPDATE "+table+" SET v = 0 WHERE id = 1", late)
	b.want("SET lock_timeout = 0; BEGIN; UPDATE "+table+" SET v = 2 WHERE id = 2; SET LOCAL lock_timeout = '1ms'", "SET\nBEGIN\nUPDATE 1\nSET")
	b.want("UPDATE "+table+" SET v = 0 WHERE id = 1", late)
	b.want("ROLLBACK", "ROLLBACK")
	b.want("SHOW deadlock_timeout", "1s\nSHOW")
}

func lockSavepoints(t *testing.T, w *world, a, b *client, table string) {
	const modes = "SELECT mode FROM pg_locks WHERE relation = 'lock_savepoints'::regclass ORDER BY 1"
	a.want("BEGIN; LOCK "+table+" IN ROW SHARE MODE; SAVEPOINT s; LOCK "+table, "BEGIN\nLOCK TABLE\nSAVEPOINT\nLOCK TABLE")
	a.want("SELECT pg_advisory_xact_lock(1, 2), pg_advisory_lock(3)", "|\nSELECT 1")
	a.want(modes, "AccessExclusiveLock\nRowShareLock\nSELECT 2")
	a.want("ROLLBACK TO s", "ROLLBACK")
	a.want(modes, "RowShareLock\nSELECT 1")
	b.want("SELECT pg_try_advisory_lock(1, 2), pg_try_advisory_lock(3)", "t|f\nSELECT 1")
	a.want("COMMIT", "COMMIT")
	b.want(modes, "SELECT 0")
	a.s.Close() // the session's locks end with it
	b.want("SELECT pg_try_advisory_lock(3)", "t\nSELECT 1")
}

func advisory(t *testing.T, w *world, a, b *client, table string) {
	mine := "SELECT classid, objid, objsubid, mode FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() ORDER BY 1, 2, 3, 4"
	a.want("SELECT pg_advisory_lock(5), pg_advisory_lock(5), pg_advisory_lock_shared(-1), pg_advisory_xact_lock(1, -2)", "|||\nSELECT 1")
	a.want(mine, "0|5|1|ExclusiveLock\n4294967295|4294967295|1|ShareLock\nSELECT 2") // the transaction's is gone with it
	a.want("SELECT pg_advisory_unlock(5), pg_advisory_unlock(5)", "t|t\nSELECT 1")
	a.want("SELECT pg_advisory_unlock(5)", "f\nWARNING: you don't own a lock of type ExclusiveLock\nSELECT 1")
	a.want("SELECT pg_advisory_unlock_shared(7, 8)", "f\nWARNING: you don't own a lock of type ShareLock\nSELECT 1")
	a.want("BEGIN; SELECT pg_advisory_xact_lock(6), pg_try_advisory_xact_lock_shared(6)", "BEGIN\n|t\nSELECT 1")
	b.want("SELECT pg_try_advisory_lock(6), pg_try_advisory_lock(-1), pg_try_advisory_lock_shared(-1), pg_try_advisory_xact_lock(6, 0)", "f|f|t|t\nSELECT 1")
	a.want("SELECT pg_advisory_unlock(6)", "f\nWARNING: you don't own a lock of type ExclusiveLock\nSELECT 1") // the transaction's is no session's
	a.want("COMMIT", "COMMIT")
	b.want("SELECT pg_try_advisory_lock(6)", "t\nSELECT 1")
	a.want("SELECT pg_advisory_unlock_all()", "\nSELECT 1")
	b.want("DISCARD ALL", "DISCARD ALL")
	b.want(mine, "SELECT 0")
	a.want("SELECT pg_advisory_lock(g) FROM generate_series(1, 100) g; SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
		strings.Repeat("\n", 100)+"SELECT 100\n100\nSELECT 1")
	a.want("SELECT count(pg_advisory_unlock(g)) FROM generate_series(1, 100) g", "100\nSELECT 1")
	a.want("SELECT pg_advisory_lock(NULL)", "null\nSELECT 1")
}

func advisoryWaits(t *testing.T, w *world, a, b *client, table string) {
	a.want("SELECT pg_advisory_lock(77)", "\nSELECT 1")
	waits := b.background(w, "SELECT pg_advisory_lock(77)")
	a.want("SELECT wait_event_type, wait_event, state FROM pg_stat_activity WHERE query = 'SELECT pg_advisory_lock(77)' AND state = 'active'",
		"Lock|advisory|active\nSELECT 1")
	a.want("SELECT key, mode, cardinality(blocked_by) FROM sherd.locks WHERE NOT granted", "77|ExclusiveLock|1\nSELECT 1")
	a.want("SELECT pg_advisory_unlock(77)", "t\nSELECT 1")
	if got := <-waits; got != "\nSELECT 1" {
		t.Error(got)
	}
	b.want("SELECT pg_advisory_unlock(77)", "t\nSELECT 1")
}

// A circle of a row, a table and a session's lock.
func deadlockOfKinds(t *testing.T, w *world, a, b *client, table string) {
	const count = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
	c := w.connect(t)
	c.want(count, "0\nSELECT 1")
	a.want("SELECT pg_advisory_lock(500)", "\nSELECT 1")
	b.want("BEGIN; UPDATE "+table+" SET v = 0 WHERE id = 1", "BEGIN\nUPDATE 1")
	c.want("CREATE TABLE deadlock_other (id int)", "CREATE TABLE")
	c.want("BEGIN; LOCK deadlock_other", "BEGIN\nLOCK TABLE")
	a.want("BEGIN", "BEGIN")
	row := a.background(w, "UPDATE "+table+" SET v = 1 WHERE id = 1")
	lock := b.background(w, "SELECT count(*) FROM deadlock_other")
	if got := c.answer("SELECT pg_advisory_xact_lock(500)"); !strings.HasPrefix(got, "deadlock detected (SQLSTATE 40P01)") {
		t.Error(got)
	}
	c.want("ROLLBACK", "ROLLBACK")
	if got := <-lock; got != "0\nSELECT 1" {
		t.Error(got)
	}
	b.want("COMMIT", "COMMIT")
	if got := <-row; got != "UPDATE 1" {
		t.Error(got)
	}
	a.want("COMMIT; SELECT pg_advisory_unlock_all()", "COMMIT\n\nSELECT 1")
	c.want(count, "1\nSELECT 1")
}

func activity(t *testing.T, w *world, a, b *client, table string) {
	pid := b.pid()
	show := fmt.Sprintf("SELECT state, query, xact_start IS NOT NULL, backend_xid IS NOT NULL, wait_event FROM pg_stat_activity WHERE pid = %d", pid)
	a.want(show, "idle|SELECT pg_backend_pid()|f|f|ClientRead\nSELECT 1")
	b.want("BEGIN", "BEGIN")
	a.want(show, "idle in transaction|BEGIN|t|f|ClientRead\nSELECT 1")
	b.want("UPDATE "+table+" SET v = 5 WHERE id = 2", "UPDATE 1")
	a.want(show, "idle in transaction|UPDATE activity SET v = 5 WHERE id = 2|t|t|ClientRead\nSELECT 1")
	b.want("SELECT 1 / 0", "division by zero (SQLSTATE 22012)")
	a.want(show, "idle in transaction (aborted)|SELECT 1 / 0|t|f|ClientRead\nSELECT 1")
	b.want("ROLLBACK", "ROLLBACK")
	a.want(show, "idle|ROLLBACK|f|f|ClientRead\nSELECT 1")
	a.want("SELECT state, query = current_query(), wait_event FROM pg_stat_activity WHERE pid = pg_backend_pid()", "active|t|null\nSELECT 1")
	b.want("SET application_name = 'named'", "SET")
	a.want(fmt.Sprintf("SELECT application_name FROM pg_stat_activity WHERE pid = %d", pid), "named\nSELECT 1")
	a.want("CREATE ROLE activity_bob LOGIN", "CREATE ROLE")
	bob := w.connectAs(t, "activity_bob", sql.Handle{})
	bob.want(show, "null|<insufficient privilege>|f|f|null\nSELECT 1")
}

// cancelOther ends others' statements, by the rules of who may.
func cancelOther(t *testing.T, w *world, a, b *client, table string) {
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	c := w.connectAs(t, "postgres", sql.Handle{
		Interrupt: func(cause *pgerr.Error) { cancel(cause) },
		Terminate: func(cause *pgerr.Error) { ended <- cause },
	})
	c.ctx = ctx
	pid := c.pid()
	a.want("BEGIN; LOCK "+table, "BEGIN\nLOCK TABLE")
	waits := c.background(w, "SELECT count(*) FROM "+table)
	a.want("CREATE ROLE cancel_bob LOGIN", "CREATE ROLE")
	a.want("COMMIT; BEGIN; LOCK "+table, "COMMIT\nBEGIN\nLOCK TABLE")
	if got := <-waits; got != "3\nSELECT 1" {
		t.Error(got)
	}
	waits = c.background(w, "SELECT count(*) FROM "+table)
	bob := w.connectAs(t, "cancel_bob", sql.Handle{})
	bob.want(fmt.Sprintf("SELECT pg_cancel_backend(%d)", pid), "must be a superuser to cancel superuser query (SQLSTATE 42501)")
	bob.want(fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid), "must be a superuser to terminate superuser process (SQLSTATE 42501)")
	b.want("SELECT pg_cancel_backend(999999)", "f\nWARNING: PID 999999 is not a PostgreSQL backend process\nSELECT 1")
	b.want(fmt.Sprintf("SELECT pg_cancel_backend(%d)", pid), "t\nSELECT 1")
	if got := <-waits; got != "canceling statement due to user request (SQLSTATE 57014)" {
		t.Error(got)
	}
	b.want(fmt.Sprintf("SELECT pg_terminate_backend(%d, 1)", pid),
		fmt.Sprintf("f\nWARNING: backend with PID %d did not terminate within 1 milliseconds\nSELECT 1", pid))
	if err := <-ended; pgerr.Code(err) != pgerr.AdminShutdown {
		t.Error(err)
	}
	c.s.Close()
	b.want(fmt.Sprintf("SELECT pg_terminate_backend(%d, 5000)", pid),
		fmt.Sprintf("f\nWARNING: PID %d is not a PostgreSQL backend process\nSELECT 1", pid))
	b.want("SELECT pg_cancel_backend(pg_backend_pid())", "canceling statement due to user request (SQLSTATE 57014)")
	b.want("SELECT pg_terminate_backend(1, -1)", `"timeout" must not be negative (SQLSTATE 22003)`)
	a.want("ROLLBACK", "ROLLBACK")
}

func lockViews(t *testing.T, w *world, a, b *client, table string) {
	a.want("BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE "+table+" SET v = 7 WHERE id IN (1, 3)", "BEGIN\nUPDATE 2")
	waits := b.background(w, "UPDATE "+table+" SET v = 8 WHERE id = 3")
	c := w.connect(t)
	const rows = " FROM sherd.locks WHERE relation = 'lock_views'::regclass AND locktype = 'row' AND mode <> 'UPDATE' ORDER BY key, granted DESC" // UPDATE: of rows whose insert is still being resolved
	c.want("SELECT key, mode, granted, fragment IS NOT NULL, waiting_since IS NOT NULL, cardinality(blocked_by)"+rows,
		"1|NO KEY UPDATE|t|t|f|null\n3|NO KEY UPDATE|t|t|f|null\n3|NO KEY UPDATE|f|t|t|1\nSELECT 3")
	c.want("SELECT state, isolation, staged_rows, staged_bytes > 0, locks, cardinality(fragments) > 0, prepared FROM sherd.txns WHERE staged_rows > 0 AND pid IS NOT NULL AND state <> 'ending'",
		"idle in transaction|repeatable read|2|t|2|t|f\nSELECT 1")
	c.want("SELECT l.txn = t.txn FROM sherd.locks l JOIN sherd.txns t USING (pid) WHERE l.key = '1'", "t\nSELECT 1")
	c.want("SELECT locktype, mode, granted, relation IS NOT NULL FROM pg_locks WHERE locktype IN ('tuple', 'transactionid') ORDER BY 1, 2",
		"transactionid|ExclusiveLock|t|f\ntransactionid|ShareLock|f|f\ntuple|ExclusiveLock|t|t\nSELECT 3")
	c.want("SELECT (SELECT transactionid FROM pg_locks WHERE NOT granted) = (SELECT backend_xid FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL)",
		"t\nSELECT 1")
	a.want("ROLLBACK", "ROLLBACK")
	if got := <-waits; got != "UPDATE 1" {
		t.Error(got)
	}
}
