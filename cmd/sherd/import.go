package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
)

// defaultURL is where `sherd start` listens when nothing else is said.
const defaultURL = "postgres://postgres@" + defaultSQLAddr + "/postgres"

// importConfig says what is imported and how.
type importConfig struct {
	url        string
	table      string
	idField    string
	docField   string // "": the whole object less its id
	shardBy    string
	shardRange int
	batch      int
	onConflict string
	maxErrors  int
	rejects    string
	resume     bool
	json       bool
	files      []string
}

const importLong = `Load documents, one JSON object a line, into a collection.

Each line of FILE is an object. Its field --id gives the document's id; the rest of the object is the document, or, with --doc FIELD, that field alone.
Files may be compressed with gzip, which is seen from their content; "-" reads standard input. Several files are loaded one after the other.

The table is made if it does not exist: CREATE TABLE … (id text PRIMARY KEY, doc jsonb NOT NULL), with --shard-by and --shard-range as its policy.
A table that is there needs one text column as its primary key and a jsonb column.

Documents go in by batches. A batch is one transaction: all of it is there or none, and the place it ends at in the file is kept with it, in the table
sherd_import.progress. An import that was interrupted is continued by the same command with --resume; nothing is loaded twice.

A line that is not a JSON object, has no id, or is refused by the server ends the import with FILE:LINE and the reason; what was loaded before stays.
--max-errors lets that many lines pass, --rejects keeps them for repair.`

const importExample = `  # 63,666 packages, lines like {"id":"packages/tar","doc":{"Package":"tar", …}}
  sherd import debian-packages.jsonl.gz --table packages --id id --doc doc

  # lines like {"OrderId":"orders/1-A$","Customer":"customers/1-A", …}; orders lie in their customer's bucket
  sherd import orders.jsonl --table orders --id OrderId --shard-by Customer

  # from another program; replace what is there
  jq -c '.[]' products.json | sherd import - --table products --on-conflict update

  # let up to 100 bad lines pass and keep them
  sherd import big.jsonl.gz --table events --max-errors 100 --rejects bad.jsonl

  # go on after an interruption
  sherd import big.jsonl.gz --table events --resume`

func importCommand() *cobra.Command {
	var cfg importConfig
	cmd := &cobra.Command{
		Use:     "import FILE.jsonl[.gz]… --table TABLE",
		Short:   "Load documents from files of JSON lines",
		Long:    importLong,
		Example: importExample,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return urlFromEnvironment(cmd, &cfg.url) },
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg.files = args
			if err := cfg.check(); err != nil {
				return usageError{err}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return runImport(ctx, cfg, cmd.OutOrStdout(), os.Stderr)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.url, "url", defaultURL, "where the server is; also SHERD_URL")
	f.StringVar(&cfg.table, "table", "", "table to load into, with its schema if need be: sales.orders")
	f.StringVar(&cfg.idField, "id", "id", "field that holds the document's id, a string or a number")
	f.StringVar(
		&cfg.docField, "doc", "",
		"field that holds the document; without it the document is the whole object less its id",
	)
	f.StringVar(&cfg.shardBy, "shard-by", "", "policy of a table that is made: the field that documents are placed by")
	f.IntVar(&cfg.shardRange, "shard-range", 0, "policy of a table that is made: buckets that one value is spread over")
	f.IntVar(&cfg.batch, "batch", 5000, "documents in a batch")
	f.StringVar(
		&cfg.onConflict, "on-conflict", "error",
		"what to do with an id that is there: error, skip, or update (replace the document)",
	)
	f.IntVar(&cfg.maxErrors, "max-errors", 0, "bad lines to let pass")
	f.StringVar(&cfg.rejects, "rejects", "", "file that bad lines are appended to")
	f.BoolVar(
		&cfg.resume, "resume", false, "go on where an interrupted import of the same files into the same table stopped",
	)
	f.BoolVar(&cfg.json, "json", false, "print the summary as JSON")
	return cmd
}

// urlFromEnvironment takes SHERD_URL where --url was not given.
func urlFromEnvironment(cmd *cobra.Command, url *string) error {
	if v, ok := os.LookupEnv("SHERD_URL"); ok && !cmd.Flags().Changed("url") {
		*url = v
	}
	return nil
}

func (c *importConfig) check() error {
	switch {
	case len(c.files) == 0:
		return errors.New("no file given; example: sherd import packages.jsonl.gz --table packages --id id")
	case c.table == "":
		return errors.New("--table is required: the table to load into")
	case c.idField == "":
		return errors.New("--id is empty: name the field that holds the document's id")
	case c.idField == c.docField:
		return fmt.Errorf("--id and --doc both name the field %q", c.idField)
	case !slices.Contains([]string{"error", "skip", "update"}, c.onConflict):
		return fmt.Errorf("--on-conflict %s: use error, skip or update", c.onConflict)
	case c.batch < 1:
		return fmt.Errorf("--batch %d: a batch has at least one document", c.batch)
	case c.shardRange != 0 && c.shardBy == "":
		return errors.New("--shard-range needs --shard-by")
	case c.maxErrors < 0:
		return fmt.Errorf("--max-errors %d is negative", c.maxErrors)
	case c.resume && slices.Contains(c.files, "-"):
		return errors.New("--resume cannot be used with standard input: give a file")
	}
	return nil
}

func runImport(ctx context.Context, cfg importConfig, out io.Writer, messages *os.File) (err error) {
	for _, name := range cfg.files { // before a table is made for them
		if name == "-" {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return err
		}
	}
	conn, err := pgx.Connect(ctx, cfg.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	imp := &importer{cfg: cfg, conn: conn, messages: messages, started: time.Now()}
	if imp.target, err = openTarget(ctx, conn, cfg); err != nil {
		return err
	}
	if cfg.rejects != "" {
		f, err := os.OpenFile(cfg.rejects, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		imp.rejects = f
	}
	imp.bar = newProgressBar(messages)
	for _, name := range cfg.files {
		err = imp.file(ctx, name)
		imp.bar.end()
		if err != nil {
			return imp.explain(ctx, err)
		}
	}
	return imp.summary().print(out, cfg.json)
}

// explain adds to an error what was loaded and how to go on.
func (imp *importer) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	s := imp.summary()
	text := "nothing was loaded"
	switch n := s.Documents + s.Skipped; {
	case n == 1:
		text = "1 document was loaded before and stays"
	case n > 1:
		text = thousands(n) + " documents were loaded before and stay"
	}
	if imp.keepsPlace() && s.Documents+s.Skipped > 0 {
		text += "; the same command with --resume goes on from there"
	}
	return fmt.Errorf("%w\n%s", err, text)
}
