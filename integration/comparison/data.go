package comparison

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Data is what both servers load.
type Data struct {
	Definitions string // defines the tables
	Tables      []Table
	Indexes     string // defines what is added after the rows
	Plain       bool   // Sherd does not read the options for Sherd
}

// Table is the rows of a table.
type Table struct {
	Name string
	// Write writes the rows in COPY's text format.
	Write func(w *bufio.Writer) error
}

var sherdOnly = regexp.MustCompile(`/\* sherd: (.*?) \*/`)

// Script returns a script for a server.
func (d *Data) Script(text string, sherd bool) string {
	if !sherd || d.Plain {
		return text
	}
	return sherdOnly.ReplaceAllString(text, "$1")
}

// Load loads the data. It returns the statements that the server does not support, which are
// skipped.
func (d *Data) Load(ctx context.Context, conn *pgconn.PgConn, sherd bool) (skipped []string, err error) {
	if skipped, err = runScript(ctx, conn, d.Script(d.Definitions, sherd)); err != nil {
		return nil, err
	}
	for _, t := range d.Tables {
		if err := t.copyTo(ctx, conn); err != nil {
			return nil, fmt.Errorf("COPY %s: %w", t.Name, err)
		}
	}
	more, err := runScript(ctx, conn, d.Script(d.Indexes, sherd))
	if err != nil {
		return nil, err
	}
	last := "VACUUM ANALYZE"
	if sherd {
		last = "ANALYZE"
	}
	return append(skipped, more...), conn.Exec(ctx, last).Close()
}

func (t *Table) copyTo(ctx context.Context, conn *pgconn.PgConn) error {
	r, w := io.Pipe()
	go func() {
		buffered := bufio.NewWriterSize(w, 1<<16)
		w.CloseWithError(errors.Join(t.Write(buffered), buffered.Flush()))
	}()
	_, err := conn.CopyFrom(ctx, r, "COPY "+t.Name+" FROM STDIN")
	r.CloseWithError(errors.New("COPY has ended"))
	return err
}

// runScript runs statements. Each ends with a semicolon at the end of a line.
func runScript(ctx context.Context, conn *pgconn.PgConn, script string) (skipped []string, err error) {
	for text := range strings.SplitSeq(script, ";\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		err := conn.Exec(ctx, text).Close()
		if pgCode(err) == notSupported {
			skipped = append(skipped, fmt.Sprintf("%s: %v", statementLine(text), err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", statementLine(text), err)
		}
	}
	return skipped, nil
}

const notSupported = "0A000"

// statementLine returns a statement in one line, without comments.
func statementLine(text string) string {
	var words []string
	for line := range strings.SplitSeq(text, "\n") {
		line, _, _ = strings.Cut(line, "--")
		words = append(words, strings.Fields(line)...)
	}
	return strings.Join(words, " ")
}
