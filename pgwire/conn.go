package pgwire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/jackc/pgproto3/v2"
	"github.com/xdg-go/scram"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/txblock"
)

// conn is one client. All fields but intr belong to its goroutine.
type conn struct {
	server  *Server
	raw     net.Conn     // the socket
	net     net.Conn     // the socket or TLS over it
	refusal *pgerr.Error // answer to the start-up packet if the server is full
	pid     uint32
	secret  uint32
	binding *scram.ChannelBinding // of the TLS channel; nil if there is none
	session Session
	intr    interrupts

	in      reader
	out     *chunk // borrowed while busy; nil while idle
	lost    error  // error of reading or writing: nothing more can be sent
	rested  bool   // ReadyForQuery was sent last: the client is between statements
	skip    bool   // an error of the extended protocol: drop messages until Sync (W4)
	desync  bool   // an unexpected message came: the connection ends after the error is sent
	results results
	portals portals
	msg     messages
	reply   replies
}

// errTerminated ends a connection that its client has ended.
var errTerminated = errors.New("pgwire: the client has ended the connection")

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{server: s, raw: nc, net: nc}
	c.in.reset(nc, &s.pool, s.cfg.MaxMessage)
	c.results.c = c
	return c
}

// run is the goroutine of a connection, from its first byte to its end. A panic in it is a defect of
// Sherd: it ends this connection, because the state of its session is unknown, but no other.
func (c *conn) run() {
	defer c.server.wg.Done()
	defer c.close()
	var err error // the reason of the end
	defer func() {
		if p := recover(); p != nil {
			c.server.cfg.Log.Error(
				"panic in a session", "pid", c.pid, "panic", fmt.Sprint(p), "stack", string(debug.Stack()),
			)
			err = pgerr.Fatal(pgerr.InternalError, "internal error: %v", p)
		}
		if c.lost == nil && !errors.Is(err, errTerminated) {
			c.farewell(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), c.server.cfg.StartupTimeout)
	err = c.startup(ctx)
	cancel()
	for err == nil {
		var typ byte
		var body []byte
		typ, body, err = c.next()
		if long := (*tooLong)(nil); errors.As(err, &long) {
			err = c.refuse(typ, long.err)
		} else if err == nil {
			err = c.dispatch(typ, body)
		}
	}
}

// farewell sends the client the reason why its connection ends.
func (c *conn) farewell(err error) {
	var e *pgerr.Error
	if !errors.As(err, &e) {
		if isNetwork(err) {
			return
		}
		e = pgerr.From(err)
	}
	c.logEnd(e)
	last := *e
	last.Severity = "FATAL"
	_ = c.raw.SetWriteDeadline(time.Now().Add(farewellTime))
	c.sendError(&last)
	_ = c.flush()
}

// logEnd logs why the server ended a connection, for operators whose clients cannot connect.
func (c *conn) logEnd(e *pgerr.Error) {
	level := slog.LevelDebug
	if c.session == nil {
		level = slog.LevelInfo
	}
	c.server.cfg.Log.Log(context.Background(), level, "connection ended",
		"client", remoteName(c.raw.RemoteAddr()), "pid", c.pid,
		"code", e.Code, "reason", e.Message)
}

// close frees the resources of the connection; a session in a transaction rolls back. The client
// sees the end after its place is free.
func (c *conn) close() {
	defer func() {
		if p := recover(); p != nil {
			c.server.cfg.Log.Error(
				"panic while closing a session", "pid", c.pid, "panic", fmt.Sprint(p), "stack", string(debug.Stack()),
			)
		}
		c.server.unregister(c)
		_ = c.net.Close()
	}()
	if c.session != nil {
		c.session.Close()
	}
}

// next waits for the next message.
func (c *conn) next() (typ byte, body []byte, err error) {
	if c.in.buffered() == 0 {
		if err := c.await(); err != nil {
			return 0, nil, err
		}
	}
	typ, body, err = c.in.message()
	if errors.Is(err, errMessageType) {
		return typ, nil, pgerr.Fatal(pgerr.ProtocolViolation, "invalid frontend message type %d", typ)
	}
	return typ, body, c.readError(err)
}

// await waits for the first byte of a message, and sends the notifications that arrive meanwhile.
func (c *conn) await() error {
	since := time.Now()
	for {
		again, err := c.awaitOnce(since)
		if err != nil || !again {
			return err
		}
		c.sendNotifications()
		if err := c.flush(); err != nil {
			return err
		}
	}
}

// awaitOnce waits until there is a byte, or the session has notifications: then again is true.
// Meanwhile the connection holds no pooled memory (W6) and may be ended by a shutdown.
func (c *conn) awaitOnce(since time.Time) (again bool, err error) {
	end, said, err := c.setWaiting(since)
	if err != nil || said {
		return said, err
	}
	c.in.release()
	c.msg = messages{} // they hold the last texts and parameters
	if c.out != nil && len(c.out.b) == 0 {
		c.server.pool.put(c.out)
		c.out = nil
	}
	err = c.in.fill(1)
	said, gone := c.clearWaiting(end != nil)
	switch {
	case gone != nil:
		return false, gone
	case said && errors.Is(err, os.ErrDeadlineExceeded):
		return true, nil
	case end != nil && errors.Is(err, os.ErrDeadlineExceeded):
		return false, end
	case err == io.EOF:
		return false, errTerminated // a client that disconnects without Terminate, as in PostgreSQL
	}
	return false, c.readError(err)
}

// setWaiting begins the wait for a client that has sent nothing since a time. If the wait is
// limited, end is the error that ends the connection after the limit. said reports whether
// notifications have to be sent first.
func (c *conn) setWaiting(since time.Time) (end *pgerr.Error, said bool, err error) {
	limit := time.Duration(0)
	if c.rested {
		limit, end = c.session.IdleLimit()
	}
	idle := !c.skip && c.session.Status() == txblock.Idle && (c.out == nil || len(c.out.b) == 0)
	c.intr.mu.Lock()
	defer c.intr.mu.Unlock()
	switch {
	case c.intr.killed != nil:
		return nil, false, c.intr.killed
	case c.intr.draining && idle:
		return nil, false, adminShutdown()
	case c.intr.notified && idle:
		c.intr.notified = false
		return nil, true, nil
	}
	c.intr.waiting = idle
	if limit <= 0 {
		return nil, false, nil
	}
	return end, false, c.raw.SetReadDeadline(since.Add(limit))
}

// clearWaiting ends the wait. A client that sent something before it was notified of a shutdown is
// served until it is idle again. said reports whether notifications to be sent have ended the wait.
func (c *conn) clearWaiting(limited bool) (said bool, err error) {
	c.intr.mu.Lock()
	defer c.intr.mu.Unlock()
	woken := c.intr.waiting && c.intr.draining
	said = c.intr.waiting && c.intr.notified && c.in.buffered() == 0
	c.intr.waiting = false
	switch {
	case c.intr.killed != nil:
		return false, c.intr.killed
	case woken && c.in.buffered() == 0:
		return false, adminShutdown()
	case woken, limited, c.intr.notified:
		_ = c.raw.SetReadDeadline(time.Time{})
	}
	if said {
		c.intr.notified = false
	}
	return said, nil
}

// readError marks the connection as lost if err comes from the socket.
func (c *conn) readError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if end := c.intr.killReason(); end != nil {
			return end
		}
	}
	if isNetwork(err) {
		c.lost = err
	}
	return err
}

// killReason returns the reason for which the connection was killed, nil if it was not.
func (i *interrupts) killReason() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.killed == nil {
		return nil
	}
	return i.killed
}

// isNetwork reports whether an error is of the socket, and not of the protocol.
func isNetwork(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed)
}

// dispatch answers a message. An error ends the connection.
func (c *conn) dispatch(typ byte, body []byte) error {
	c.rested = false
	if c.skip && typ != 'S' && typ != 'X' {
		return nil
	}
	switch typ {
	case 'Q':
		return c.query(body)
	case 'F':
		return c.functionCall()
	case 'P':
		return c.extended(c.parse(body))
	case 'B':
		return c.extended(c.bind(body))
	case 'D':
		return c.extended(c.describe(body))
	case 'E':
		return c.extended(c.execute(body))
	case 'C':
		return c.extended(c.closeObject(body))
	case 'H':
		return c.flush()
	case 'S':
		return c.sync()
	case 'X':
		return errTerminated
	case 'd', 'c', 'f':
		return nil // the rest of a COPY that has failed
	}
	return pgerr.Fatal(pgerr.ProtocolViolation, "invalid frontend message type %d", typ)
}

// refuse answers a message that was not read because of its size.
func (c *conn) refuse(typ byte, e *pgerr.Error) error {
	switch typ {
	case 'Q', 'F':
		if c.skip {
			return nil
		}
		return c.endQuery(e)
	case 'd':
		return nil // outside COPY data is ignored
	}
	if c.skip {
		return nil
	}
	c.session.FailPipeline()
	return c.extended(e)
}

// send appends a message to the output.
func (c *conn) send(m pgproto3.BackendMessage) {
	out := c.output()
	b, err := m.Encode(out.b)
	if err != nil {
		// Only counts above 65,535 and messages above 1 GiB do not encode; both are bounded before.
		panic(fmt.Sprintf("pgwire: encoding %T: %v", m, err))
	}
	out.b = b
}

// output returns the buffer to append to.
func (c *conn) output() *chunk {
	if c.out == nil {
		c.out = c.server.pool.get()
	}
	return c.out
}

// flush writes what was appended. A failure is kept in lost and returned to the next write.
func (c *conn) flush() error {
	if c.lost != nil {
		return c.lost
	}
	if c.out == nil || len(c.out.b) == 0 {
		return nil
	}
	_, err := c.net.Write(c.out.b)
	if cap(c.out.b) > chunkKeep {
		c.out.b = make([]byte, 0, chunkSize)
	}
	c.out.b = c.out.b[:0]
	if err != nil {
		c.lost = err
	}
	return err
}
