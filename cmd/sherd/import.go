package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sherddb/sherd/importer"
)

// defaultURL is the address of `sherd start` without --sql-addr.
const defaultURL = "postgres://postgres@" + defaultSQLAddr + "/postgres"

const importLong = `Load documents, one JSON object a line, into a collection.

Each line of FILE is an object. Its field --id is the document's id. The rest of the object is the
document, or, with --doc FIELD, only that field. Files may be compressed with gzip, which the command
recognises by their content; "-" is standard input. Several files are loaded one after the other.

If the table does not exist, the command creates it: CREATE TABLE … (id text PRIMARY KEY, doc jsonb
NOT NULL), with --shard-by and --shard-range as its policy. An existing table needs one text column
as its primary key, and a jsonb column.

Each batch is one transaction. It also writes its position in the file to the table
sherd_import.progress, so after an interruption the same command with --resume continues, and nothing
is loaded twice.

If a line is not a JSON object, has no id, or is refused by the server, the import stops with
FILE:LINE and the reason; the batches loaded before stay. --max-errors skips that many such lines,
and --rejects writes them to a file.`

const importExample = `  # 63,666 packages, lines like {"id":"packages/tar","doc":{"Package":"tar", …}}
  sherd import debian-packages.jsonl.gz --table packages --id id --doc doc

  # lines like {"OrderId":"orders/1-A$","Customer":"customers/1-A", …}; orders share their customer's bucket
  sherd import orders.jsonl --table orders --id OrderId --shard-by Customer

  # from another program; replace documents that exist
  jq -c '.[]' products.json | sherd import - --table products --on-conflict update

  # skip up to 100 bad lines and keep them in a file
  sherd import big.jsonl.gz --table events --max-errors 100 --rejects bad.jsonl

  # go on after an interruption
  sherd import big.jsonl.gz --table events --resume`

func importCommand() *cobra.Command {
	var cfg importer.Config
	asJSON := false
	cmd := &cobra.Command{
		Use:     "import FILE.jsonl[.gz]… --table TABLE",
		Short:   "Load documents from files of JSON lines",
		Long:    importLong,
		Example: importExample,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return urlFromEnvironment(cmd, &cfg.URL) },
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg.Files = args
			if err := cfg.Check(); err != nil {
				return usageError{err}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			summary, err := importer.Run(ctx, cfg, os.Stderr)
			if err != nil {
				return err
			}
			return summary.Print(cmd.OutOrStdout(), asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.URL, "url", defaultURL, "connection string of a node; also SHERD_URL")
	f.StringVar(&cfg.Table, "table", "", "table to load into, with or without a schema: sales.orders")
	f.StringVar(&cfg.IDField, "id", "id", "field that holds the document's id, a string or a number")
	f.StringVar(
		&cfg.DocField, "doc", "",
		"field that holds the document; without it the document is the whole object except the id",
	)
	f.StringVar(&cfg.ShardBy, "shard-by", "", "policy if the table is created: "+
		"the field that decides where documents are placed")
	f.IntVar(&cfg.ShardRange, "shard-range", 0, "policy if the table is created: the number of buckets for one value")
	f.IntVar(&cfg.Batch, "batch", 5000, "documents in a batch")
	f.StringVar(
		&cfg.OnConflict, "on-conflict", "error",
		"what to do with an id that exists: error, skip, or update (replace the document)",
	)
	f.IntVar(&cfg.MaxErrors, "max-errors", 0, "number of bad lines to skip")
	f.StringVar(&cfg.Rejects, "rejects", "", "file to append bad lines to")
	f.BoolVar(
		&cfg.Resume, "resume", false, "continue an interrupted import of the same files into the same table",
	)
	f.BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return cmd
}

// urlFromEnvironment uses SHERD_URL if --url is not given.
func urlFromEnvironment(cmd *cobra.Command, url *string) error {
	if v, ok := os.LookupEnv("SHERD_URL"); ok && !cmd.Flags().Changed("url") {
		*url = v
	}
	return nil
}
