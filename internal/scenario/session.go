package scenario

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// session is one client.
type session struct {
	name    string
	conn    *pgconn.PgConn
	now     *answer     // of the directive that runs
	last    string      // first value of the last row
	heard   []string    // notifications since the last `heard`
	pending chan string // the answer of what was started; nil: nothing
}

// listen makes a connection report to the session.
func (s *session) listen(c *pgconn.Config) {
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if s.now != nil && !strings.HasPrefix(n.Message, "move ") {
			s.now.notice(n.Severity, (*pgconn.PgError)(n))
		}
	}
	c.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		s.heard = append(s.heard, strings.TrimSpace(n.Channel+" "+n.Payload))
	}
}

// answers runs f and returns what the session sees meanwhile.
func (s *session) answers(f func(a *answer)) string {
	s.now = &answer{}
	f(s.now)
	out := s.now.String()
	s.now = nil
	return out
}

// failed adds an error to the answer.
func failed(a *answer, err error) {
	var pg *pgconn.PgError
	switch {
	case err == nil:
	case errors.As(err, &pg):
		a.notice(pg.Severity, pg)
	default:
		a.line("BROKEN: " + err.Error())
	}
}

// exec runs query strings one after the other.
func (s *session) exec(ctx context.Context, texts []string) string {
	return s.answers(func(a *answer) {
		for _, text := range texts {
			results := s.conn.Exec(ctx, text)
			for results.NextResult() {
				_ = s.read(a, results.ResultReader()) // the error is that of results.Close
			}
			failed(a, results.Close())
		}
	})
}

// read adds the rows and the command tag of one statement.
func (s *session) read(a *answer, r *pgconn.ResultReader) error {
	for r.NextRow() {
		values := r.Values()
		if s.last = ""; len(values) > 0 {
			s.last = string(values[0])
		}
		a.row(values)
	}
	tag, err := r.Close()
	if err == nil {
		a.line(tagOf(tag))
	}
	return err
}

// tagOf returns a command tag, "empty" of an empty query.
func tagOf(tag pgconn.CommandTag) string {
	if tag.String() == "" {
		return "empty"
	}
	return tag.String()
}

// pipeline sends statements before one Sync. The first error ends it.
func (s *session) pipeline(ctx context.Context, texts []string) string {
	return s.answers(func(a *answer) {
		p := s.conn.StartPipeline(ctx)
		for _, text := range texts {
			p.SendQueryParams(text, nil, nil, nil, nil)
		}
		err := p.Sync()
		for err == nil {
			var results any
			if results, err = p.GetResults(); err != nil || results == nil {
				break
			}
			if r, ok := results.(*pgconn.ResultReader); ok {
				err = s.read(a, r)
			}
		}
		if closed := p.Close(); err == nil {
			err = closed
		}
		failed(a, err)
	})
}

// copy runs COPY FROM STDIN with lines of data, or COPY TO STDOUT.
func (s *session) copy(ctx context.Context, text string, data []string) string {
	return s.answers(func(a *answer) {
		var tag pgconn.CommandTag
		var err error
		if strings.Contains(strings.ToUpper(text), "TO STDOUT") {
			var out strings.Builder
			tag, err = s.conn.CopyTo(ctx, &out, text)
			for line := range strings.Lines(out.String()) {
				a.line(strings.TrimSuffix(line, "\n"))
			}
		} else {
			var in strings.Builder
			for _, line := range data {
				in.WriteString(line + "\n")
			}
			tag, err = s.conn.CopyFrom(ctx, strings.NewReader(in.String()), text)
		}
		if failed(a, err); err == nil {
			a.line(tag.String())
		}
	})
}

// notifications returns, and removes, the notifications that the session has received. The server
// sends them with the answer of a query at the latest.
func (s *session) notifications(ctx context.Context) string {
	failure := s.answers(func(a *answer) {
		for range 2 {
			_, err := s.conn.Exec(ctx, "").ReadAll()
			failed(a, err)
		}
	})
	out := s.heard
	s.heard = nil
	if failure != "" {
		out = append(out, failure)
	}
	return strings.Join(out, "\n")
}
