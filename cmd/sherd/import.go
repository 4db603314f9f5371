package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sherddb/sherd/importer"
)

// defaultURL is where `sherd start` listens when nothing else is said.
const defaultURL = "postgres://postgres@" + defaultSQLAddr + "/postgres"

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
	f.StringVar(&cfg.URL, "url", defaultURL, "where the server is; also SHERD_URL")
	f.StringVar(&cfg.Table, "table", "", "table to load into, with its schema if need be: sales.orders")
	f.StringVar(&cfg.IDField, "id", "id", "field that holds the document's id, a string or a number")
	f.StringVar(
		&cfg.DocField, "doc", "",
		"field that holds the document; without it the document is the whole object less its id",
	)
	f.StringVar(&cfg.ShardBy, "shard-by", "", "policy of a table that is made: the field that documents are placed by")
	f.IntVar(&cfg.ShardRange, "shard-range", 0, "policy of a table that is made: buckets that one value is spread over")
	f.IntVar(&cfg.Batch, "batch", 5000, "documents in a batch")
	f.StringVar(
		&cfg.OnConflict, "on-conflict", "error",
		"what to do with an id that is there: error, skip, or update (replace the document)",
	)
	f.IntVar(&cfg.MaxErrors, "max-errors", 0, "bad lines to let pass")
	f.StringVar(&cfg.Rejects, "rejects", "", "file that bad lines are appended to")
	f.BoolVar(
		&cfg.Resume, "resume", false, "go on where an interrupted import of the same files into the same table stopped",
	)
	f.BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return cmd
}

// urlFromEnvironment takes SHERD_URL where --url was not given.
func urlFromEnvironment(cmd *cobra.Command, url *string) error {
	if v, ok := os.LookupEnv("SHERD_URL"); ok && !cmd.Flags().Changed("url") {
		*url = v
	}
	return nil
}
