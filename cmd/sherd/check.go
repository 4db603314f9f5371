package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
)

const checkLong = `Check the database of --url: every row and index entry, against the bucket map, the definitions and the statistics, all as of one moment,
while the server goes on serving. It is SELECT * FROM sherd.check(), for superusers and the owner of the database.

The exit code is 0 where all is well and 1 where something is not; --json prints one object a line.`

// errCheckFailed is what a check ends with that has found something.
var errCheckFailed = errors.New("the check has found something wrong")

func checkCommand() *cobra.Command {
	url, asJSON := defaultURL, false
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Prove that what is stored is consistent",
		Long:    checkLong,
		Example: "  sherd check\n  sherd check --url postgres://postgres@127.0.0.1:5433/shop --json",
		Args:    cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return urlFromEnvironment(cmd, &url) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return runCheck(ctx, url, asJSON, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&url, "url", url, "where the server is; also SHERD_URL")
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
	var failed error
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, r := range rows {
		if !r.OK {
			failed = errCheckFailed
		}
		if asJSON {
			if err := encoder.Encode(r); err != nil {
				return err
			}
			continue
		}
		mark := "ok    "
		if !r.OK {
			mark = "WRONG "
		}
		if _, err := fmt.Fprintf(out, "%s %-12s  %s: %s\n", mark, r.Check, r.Subject, r.Detail); err != nil {
			return err
		}
	}
	return failed
}
