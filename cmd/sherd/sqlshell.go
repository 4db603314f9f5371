package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pganalyze/pg_query_go/v6"
	"github.com/spf13/cobra"
)

func sqlCommand() *cobra.Command {
	url := defaultURL
	var commands []string
	cmd := &cobra.Command{
		Use:   "sql [-c STATEMENTS] [-- psql options]",
		Short: "Open a SQL prompt",
		Long: `Open a SQL prompt: psql if it is installed, otherwise a simple built-in prompt.

Options after -- are passed to psql.`,
		Example: `  sherd sql
  sherd sql -c 'SELECT * FROM sherd.bucket_map'
  sherd sql --url postgres://postgres@127.0.0.1:5433/shop -- -f schema.sql`,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return urlFromEnvironment(cmd, &url) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if psql, err := exec.LookPath("psql"); err == nil {
				argv := []string{"psql", url}
				for _, c := range commands {
					argv = append(argv, "-c", c)
				}
				return syscall.Exec(psql, append(argv, args...), os.Environ())
			}
			if len(args) > 0 {
				return usageError{fmt.Errorf("%q is an option of psql, which is not installed", args[0])}
			}
			return runShell(cmd.Context(), url, commands, os.Stdin, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&url, "url", url, "connection string of a node; also SHERD_URL")
	cmd.Flags().StringArrayVarP(
		&commands, "command", "c", nil, "run these statements and exit; can be repeated",
	)
	return cmd
}

// runShell is the built-in prompt: it runs statements up to a semicolon at the end of a line, and
// prints results as text.
func runShell(ctx context.Context, url string, commands []string, in io.Reader, out io.Writer) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, c := range commands {
		if err := runStatements(ctx, conn, c, out); err != nil {
			return err
		}
	}
	if commands != nil {
		return nil
	}
	prompt := conn.Config().Database
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	var text strings.Builder
	for fmt.Fprint(out, prompt, "=> "); lines.Scan(); fmt.Fprint(
		out, prompt, map[bool]string{true: "=> ", false: "-> "}[text.Len() == 0],
	) {
		line := lines.Text()
		if word := strings.TrimSpace(line); text.Len() == 0 && (word == `\q` || word == "exit" || word == "quit") {
			return nil
		}
		text.WriteString(line + "\n")
		if !complete(text.String()) {
			continue
		}
		if err := runStatements(ctx, conn, text.String(), out); err != nil {
			if conn.IsClosed() {
				return err
			}
			fmt.Fprintln(out, err)
		}
		text.Reset()
	}
	return lines.Err()
}

// complete reports whether the text ends in a semicolon that is not part of a quoted string or
// comment.
func complete(text string) bool {
	tokens, err := pg_query.Scan(text)
	if err != nil { // an open quote
		return false
	}
	if len(tokens.Tokens) == 0 {
		return strings.TrimSpace(text) == ""
	}
	for i := len(tokens.Tokens) - 1; i >= 0; i-- {
		switch tokens.Tokens[i].Token {
		case pg_query.Token_SQL_COMMENT, pg_query.Token_C_COMMENT:
		default:
			return tokens.Tokens[i].Token == pg_query.Token_ASCII_59
		}
	}
	return false
}

// runStatements runs statements and prints their results.
func runStatements(ctx context.Context, conn *pgx.Conn, text string, out io.Writer) error {
	results := conn.PgConn().Exec(ctx, text)
	for results.NextResult() {
		r := results.ResultReader()
		var rows [][]string
		header := make([]string, len(r.FieldDescriptions()))
		for i, f := range r.FieldDescriptions() {
			header[i] = f.Name
		}
		for r.NextRow() {
			row := make([]string, len(header))
			for i, v := range r.Values() {
				row[i] = string(v)
			}
			rows = append(rows, row)
		}
		tag, err := r.Close()
		if err != nil {
			break // Close of the results returns it
		}
		if len(header) > 0 {
			printTable(out, header, rows)
		} else {
			fmt.Fprintln(out, tag)
		}
	}
	err := results.Close()
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		err = fmt.Errorf("%s:  %s (%s)", pg.Severity, pg.Message, pg.Code)
		for _, more := range [][2]string{{"DETAIL", pg.Detail}, {"HINT", pg.Hint}} {
			if more[1] != "" {
				err = fmt.Errorf("%w\n%s:  %s", err, more[0], more[1])
			}
		}
	}
	return err
}

// printTable prints rows under their header, columns as wide as their widest value.
func printTable(out io.Writer, header []string, rows [][]string) {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, v := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(v))
		}
	}
	printRow := func(row []string) {
		var b strings.Builder
		for i, v := range row {
			if i > 0 {
				b.WriteString("|")
			}
			b.WriteString(" " + v + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(v)) + " ")
		}
		fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	}
	printRow(header)
	lines := make([]string, len(widths))
	for i, w := range widths {
		lines[i] = strings.Repeat("-", w+2)
	}
	fmt.Fprintln(out, strings.Join(lines, "+"))
	for _, row := range rows {
		printRow(row)
	}
	noun := "rows"
	if len(rows) == 1 {
		noun = "row"
	}
	fmt.Fprintf(out, "(%d %s)\n\n", len(rows), noun)
}
