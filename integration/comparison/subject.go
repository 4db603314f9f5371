package comparison

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// subject is a server that runs the cases, and the connection that it does so with.
type subject struct {
	name    string
	url     string
	sherd   bool
	timeout time.Duration // of a statement
	conn    *pgconn.PgConn
}

// connect opens the connection, or opens it again if it was closed.
func (s *subject) connect(ctx context.Context) error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	var err error
	if s.conn, err = pgconn.Connect(ctx, s.url); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return s.exec(ctx, fmt.Sprintf("SET statement_timeout = %d", s.timeout.Milliseconds()))
}

func (s *subject) exec(ctx context.Context, text string) error {
	if err := s.conn.Exec(ctx, text).Close(); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// prepare prepares a case, as drivers do.
func (s *subject) prepare(ctx context.Context, c *Case) error {
	return Prepare(ctx, s.conn, c.Name, c.Text, c.Params)
}

// Prepare prepares a statement with the types of its parameters.
func Prepare(ctx context.Context, conn *pgconn.PgConn, name, text string, params []Param) error {
	oids := make([]uint32, len(params))
	for i, p := range params {
		oids[i] = oidOf[p.Type]
	}
	_, err := conn.Prepare(ctx, name, text, oids)
	return err
}

// Execute runs a prepared statement.
func Execute(ctx context.Context, conn *pgconn.PgConn, name string, params []Param) (*Answer, error) {
	values := make([][]byte, len(params))
	for i, p := range params {
		if p.Value != nil {
			values[i] = []byte(*p.Value)
		}
	}
	rows := conn.ExecPrepared(ctx, name, values, nil, nil)
	a := &Answer{}
	for _, f := range rows.FieldDescriptions() {
		a.Types = append(a.Types, f.DataTypeOID)
	}
	for rows.NextRow() {
		row := make([][]byte, len(rows.Values()))
		for i, v := range rows.Values() {
			if v != nil {
				row[i] = append([]byte{}, v...)
			}
		}
		a.Rows = append(a.Rows, row)
	}
	tag, err := rows.Close()
	a.Tag = tag.String()
	return a, err
}

// run runs a prepared case and returns its answer, and how long the statement took.
func (s *subject) run(ctx context.Context, c *Case) (a *Answer, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout+10*time.Second)
	defer cancel()
	if c.Writes {
		if err := s.exec(ctx, "BEGIN"); err != nil {
			return nil, 0, err
		}
		defer func() { err = errors.Join(err, s.exec(ctx, "ROLLBACK")) }()
	}
	began := time.Now()
	a, err = Execute(ctx, s.conn, c.Name, c.Params)
	return a, time.Since(began), err
}

// answer prepares a case, runs it and returns its answer.
func (s *subject) answer(ctx context.Context, c *Case) (*Answer, error) {
	if err := s.prepare(ctx, c); err != nil {
		return nil, err
	}
	a, _, err := s.run(ctx, c)
	return a, errors.Join(err, s.conn.Deallocate(ctx, c.Name))
}

// pgCode returns the SQLSTATE of an error, or "" if it has none.
func pgCode(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// isTimeout reports whether a statement ended because it took too long.
func isTimeout(err error) bool {
	return pgCode(err) == "57014" || errors.Is(err, context.DeadlineExceeded)
}
