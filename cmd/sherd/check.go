package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/sherddb/sherd/sql/verify"
)

const checkLong = `Check the database of --url: every row and index entry, against the bucket map, the definitions and
the statistics, all at one timestamp, while the server keeps serving. The command runs
SELECT * FROM sherd.check(), which superusers and the owner of the database may use.

With --data it checks the data directory of a stopped node instead, and changes nothing in it. It
checks definitions, logs, every block of the tables, and the rows, entries and statistics of the
fragments in that directory, as of the end of their logs. It checks foreign keys and former ids if
both sides are in the directory. With the directories of several nodes, --data DIR1 --data DIR2, it
also compares the replicas of each fragment, all as of the same log entry. A line that begins with
"not checked" names something that could not be proved; that is not a fault. Log entries that are in
no table yet are applied to a copy in --temp.

The exit code is 0 if no fault was found and 1 if one was; --json prints one JSON object a line.`

// errCheckFailed is the result of a check that found a fault.
var errCheckFailed = errors.New("the check has found something wrong")

func checkCommand() *cobra.Command {
	url, temp, asJSON := defaultURL, "", false
	var data []string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that the stored data is consistent",
		Long:  checkLong,
		Example: "  sherd check\n  sherd check --url postgres://postgres@127.0.0.1:5433/shop --json\n" +
			"  sherd check --data ./data\n  sherd check --data ./n1 --data ./n2 --data ./n3",
		Args:    cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return urlFromEnvironment(cmd, &url) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			switch {
			case len(data) > 0 && cmd.Flags().Changed("url"):
				return usageError{errors.New("--url and --data are mutually exclusive: check a server or a directory")}
			case len(data) == 0 && temp != "":
				return usageError{errors.New("--temp goes with --data")}
			case len(data) > 0:
				return checkStopped(ctx, data, temp, asJSON, cmd.OutOrStdout(), os.Stderr)
			}
			return runCheck(ctx, url, asJSON, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&url, "url", url, "connection string of a node; also SHERD_URL")
	cmd.Flags().StringArrayVar(
		&data, "data", nil, "check this data directory of a stopped node; several are compared",
	)
	cmd.Flags().StringVar(
		&temp, "temp", "", "with --data: directory for temporary files; the system's if not given",
	)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// checkRow is a row of sherd.check().
type checkRow struct {
	Check   string `json:"check"`
	Subject string `json:"subject"`
	OK      bool   `json:"ok"`
	Detail  string `json:"detail"`
}

func runCheck(ctx context.Context, url string, asJSON bool, out io.Writer) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	result, err := conn.Query(ctx, "SELECT * FROM sherd.check()")
	if err != nil {
		return err
	}
	rows, err := pgx.CollectRows(result, pgx.RowToStructByPos[checkRow])
	if err != nil {
		return err
	}
	return printCheck(rows, asJSON, out)
}

func printCheck(rows []checkRow, asJSON bool, out io.Writer) error {
	p := newCheckPrinter(asJSON, out)
	for _, r := range rows {
		if err := p.row(r); err != nil {
			return err
		}
	}
	return p.failed
}

// checkPrinter prints the rows of a check as they arrive.
type checkPrinter struct {
	asJSON  bool
	out     io.Writer
	encoder *json.Encoder
	failed  error // errCheckFailed after a row that reports a fault
}

func newCheckPrinter(asJSON bool, out io.Writer) *checkPrinter {
	p := &checkPrinter{asJSON: asJSON, out: out, encoder: json.NewEncoder(out)}
	p.encoder.SetEscapeHTML(false)
	return p
}

func (p *checkPrinter) row(r checkRow) error {
	if !r.OK {
		p.failed = errCheckFailed
	}
	if p.asJSON {
		return p.encoder.Encode(r)
	}
	mark := "ok    "
	switch {
	case !r.OK:
		mark = "WRONG "
	case strings.HasPrefix(r.Detail, verify.NotChecked):
		mark = "--    "
	}
	_, err := fmt.Fprintf(p.out, "%s %-12s  %s: %s\n", mark, r.Check, r.Subject, r.Detail)
	return err
}
