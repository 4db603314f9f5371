package session

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/scramsecret"
	"github.com/sherddb/sherd/sql/types"
)

// StartupParams is the content of the client's StartupMessage.
type StartupParams struct {
	User, Database string
	Settings       map[string]string // other parameters: application_name, client_encoding, options …
	Remote         string            // address of the client
	PID            uint32
	Secret         uint32
	Handle         Handle // how others end its statements, and the session itself
}

// Handle is how other sessions reach a session's connection. Its functions may be called at any
// time.
type Handle struct {
	Interrupt func(cause *pgerr.Error) // ends the running statement, if there is one
	Terminate func(cause *pgerr.Error) // ends the connection
	// Notify makes the connection look for Notifications when it is idle. It does not wait.
	Notify func()
}

func (h Handle) interrupt(cause *pgerr.Error) {
	if h.Interrupt != nil {
		h.Interrupt(cause)
	}
}

func (h Handle) terminate(cause *pgerr.Error) {
	if h.Terminate != nil {
		h.Terminate(cause)
	}
}

// Authenticate returns the SCRAM verifier of a role that may log in, "" if it has no password; ok
// is false if there is no such role.
func (n *Node) Authenticate(user string) (verifier string, ok bool) {
	r := n.Catalog.View().RoleByName(user)
	if r == nil {
		n.CatchUp(context.Background())
		r = n.Catalog.View().RoleByName(user)
	}
	if r == nil {
		return "", false
	}
	if r.Password != "" && expired(r.ValidUntil, time.Now()) {
		// The password is random and not kept: the exchange fails as with a wrong password.
		secret, err := scramsecret.Make(rand.Text())
		return secret, err == nil
	}
	return r.Password, true
}

// expired reports whether a role's VALID UNTIL has passed; an unreadable one has.
func expired(validUntil string, now time.Time) bool {
	if validUntil == "" {
		return false
	}
	end, err := types.Input(types.TimestampTZ, -1, validUntil, nil)
	return err != nil || end.N < types.TimestampOf(now)
}
