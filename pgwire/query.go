package pgwire

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// query runs a simple Query.
func (c *conn) query(body []byte) error {
	m := &c.msg.query
	if err := decode(m, body); err != nil {
		return c.endQuery(err)
	}
	if err := types.ValidateText(m.String); err != nil {
		return c.endQuery(err)
	}
	ctx := c.intr.begin()
	c.results.simple()
	return c.endQuery(c.ended(ctx, c.session.Simple(ctx, m.String, &c.results)))
}

// endQuery ends the answer to a message that ReadyForQuery follows.
func (c *conn) endQuery(err error) error {
	if c.lost != nil {
		return c.lost
	}
	if err != nil {
		e := pgerr.From(err)
		if e.Severity == "FATAL" {
			return e
		}
		c.sendError(e)
		if c.desync {
			return errDesync()
		}
	}
	c.ready()
	return c.flush()
}

// errDesync returns the error for a connection whose next message cannot be distinguished from the
// rest of the last.
func errDesync() *pgerr.Error {
	return pgerr.Fatal(pgerr.ProtocolViolation, "terminating connection because protocol synchronization was lost")
}

// ready appends ReadyForQuery. Outside a transaction no portal is left.
func (c *conn) ready() {
	status := c.session.Status()
	c.sendNotifications()
	if status != 'T' && status != 'E' {
		c.portals.clear()
	}
	c.rested = true
	c.reply.ready.TxStatus = byte(status)
	c.send(&c.reply.ready)
}

// functionCall answers the obsolete fast-path call.
func (c *conn) functionCall() error {
	return c.endQuery(
		pgerr.Unsupported("function call messages are not supported").WithHint("Call the function in a SELECT."),
	)
}
