package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// result is what a server answers to one statement.
type result struct {
	columns []string
	rows    [][]*string // text; nil is null
	tag     string
	copied  string // the data of COPY TO STDOUT
	code    string // SQLSTATE, "" without an error
	message string
}

// rowTexts returns the rows as text, one for each.
func (r *result) rowTexts() []string {
	out := make([]string, len(r.rows))
	for i, row := range r.rows {
		fields := make([]string, len(row))
		for j, v := range row {
			fields[j] = "NULL"
			if v != nil {
				fields[j] = strconv.Quote(*v)
			}
		}
		out[i] = strings.Join(fields, ", ")
	}
	return out
}

// session is a connection that answers as psql's: in the simple protocol, message by message.
type session struct {
	conn     net.Conn
	messages *pgproto3.Frontend
	strings  bool // standard_conforming_strings, as the server says
}

// settings are those of PostgreSQL's own runs of its scripts.
var settings = map[string]string{"datestyle": "Postgres, MDY", "timezone": "PST8PDT",
	"intervalstyle": "postgres_verbose", "client_encoding": "UTF8", "application_name": "pg_regress"}

// connect opens a session of a database; user is the one of the URL if it is empty.
func connect(ctx context.Context, url, database, user string) (*session, error) {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.Database = database
	if user != "" {
		config.User = user
	}
	for k, v := range settings {
		config.RuntimeParams[k] = v
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	raw, err := conn.Hijack()
	if err != nil {
		return nil, err
	}
	return &session{conn: raw.Conn, messages: raw.Frontend,
		strings: raw.ParameterStatuses["standard_conforming_strings"] != "off"}, nil
}

func (s *session) close() { s.conn.Close() }

// query sends a text as one simple query. data returns what to send to a COPY FROM STDIN; ok is
// false if there is nothing. An error says that the connection is of no more use.
func (s *session) query(text string, timeout time.Duration, data func() (text string, ok bool)) ([]result, error) {
	s.messages.Send(&pgproto3.Query{String: text})
	return s.receive(timeout, data)
}

// describe asks for the columns of a statement without running it, as \gdesc does.
func (s *session) describe(text string, timeout time.Duration) ([]result, error) {
	s.messages.Send(&pgproto3.Parse{Query: text})
	s.messages.Send(&pgproto3.Describe{ObjectType: 'S'})
	s.messages.Send(&pgproto3.Sync{})
	return s.receive(timeout, nil)
}

func (s *session) receive(timeout time.Duration, data func() (string, bool)) ([]result, error) {
	if err := s.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	if err := s.messages.Flush(); err != nil {
		return nil, err
	}
	var out []result
	var current *result
	end := func(set func(*result)) {
		if current == nil {
			current = &result{}
		}
		set(current)
		out, current = append(out, *current), nil
	}
	for {
		message, err := s.messages.Receive()
		if err != nil {
			return nil, err
		}
		switch m := message.(type) {
		case *pgproto3.ReadyForQuery:
			if current != nil {
				out = append(out, *current)
			}
			return out, nil
		case *pgproto3.CommandComplete:
			end(func(r *result) { r.tag = string(m.CommandTag) })
		case *pgproto3.EmptyQueryResponse:
			end(func(r *result) { r.tag = "(empty)" })
		case *pgproto3.ErrorResponse:
			end(func(r *result) { r.code, r.message = m.Code, m.Message })
		case *pgproto3.ParameterStatus:
			if m.Name == "standard_conforming_strings" {
				s.strings = m.Value == "on"
			}
		case *pgproto3.CopyInResponse:
			if err := s.send(data); err != nil {
				return nil, err
			}
		case *pgproto3.RowDescription, *pgproto3.DataRow, *pgproto3.CopyOutResponse, *pgproto3.CopyData:
			if current == nil {
				current = &result{}
			}
			current.take(message)
		}
	}
}

// take takes a part of a result.
func (r *result) take(message pgproto3.BackendMessage) {
	switch m := message.(type) {
	case *pgproto3.RowDescription:
		r.columns = []string{}
		for _, f := range m.Fields {
			r.columns = append(r.columns, string(f.Name))
		}
	case *pgproto3.DataRow:
		row := make([]*string, len(m.Values))
		for i, v := range m.Values {
			if v != nil {
				text := string(v)
				row[i] = &text
			}
		}
		r.rows = append(r.rows, row)
	case *pgproto3.CopyData:
		r.copied += string(m.Data)
	}
}

// send answers a server that asks for the data of a COPY.
func (s *session) send(data func() (string, bool)) error {
	text, ok := "", false
	if data != nil {
		text, ok = data()
	}
	if !ok {
		s.messages.Send(&pgproto3.CopyFail{Message: "no data"})
		return s.messages.Flush()
	}
	s.messages.Send(&pgproto3.CopyData{Data: []byte(text)})
	s.messages.Send(&pgproto3.CopyDone{})
	return s.messages.Flush()
}

// describeResults returns results for people.
func describeResults(results []result) string {
	var b strings.Builder
	for _, r := range results {
		if r.code != "" {
			fmt.Fprintf(&b, "  error %s: %s\n", r.code, r.message)
			continue
		}
		fmt.Fprintf(&b, "  %s %q\n", r.tag, r.columns)
		for i, row := range r.rowTexts() {
			if i == 20 {
				fmt.Fprintf(&b, "    … %d rows\n", len(r.rows))
				break
			}
			fmt.Fprintf(&b, "    %s\n", row)
		}
		if r.copied != "" {
			fmt.Fprintf(&b, "    %q\n", r.copied)
		}
	}
	return b.String()
}
