package integration

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestListen: a driver waits for notifications of other sessions, over a plain connection and over pgx's own ways.
func TestListen(t *testing.T) {
	url := sharedURL(t)
	listener, speaker := Connect(t, url), Connect(t, url)
	Exec(t, listener, "LISTEN jobs")
	for _, payload := range []string{"one", "two", ""} {
		Exec(t, speaker, "SELECT pg_notify('jobs', $1)", payload)
		n, err := listener.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Channel != "jobs" || n.Payload != payload || n.PID != speaker.PgConn().PID() {
			t.Errorf("%+v, want %q of %d", n, payload, speaker.PgConn().PID())
		}
	}
	// What a transaction says comes with its commit, and with what it has written.
	Exec(t, speaker, "CREATE TABLE told (id serial, what text)")
	err := pgx.BeginFunc(t.Context(), speaker, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "NOTIFY jobs, 'in a transaction'"); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), "INSERT INTO told (what) VALUES ('it')")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := listener.WaitForNotification(t.Context()); err != nil || n.Payload != "in a transaction" {
		t.Errorf("%+v, %v", n, err)
	}
	if what := One[string](t, listener, "SELECT what FROM told"); what != "it" {
		t.Errorf("%q", what)
	}
	// To oneself, before the answer ends.
	Exec(t, listener, "NOTIFY jobs, 'me'")
	if n, err := listener.WaitForNotification(t.Context()); err != nil || n.PID != listener.PgConn().PID() {
		t.Errorf("%+v, %v", n, err)
	}
}
