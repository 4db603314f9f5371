package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jackc/pgx/v5"
)

// Config says what is loaded and how.
type Config struct {
	URL        string // of the server
	Table      string // with its schema if need be: sales.orders
	IDField    string // field that holds the document's id
	DocField   string // field that holds the document; "": the whole object less its id
	ShardBy    string // policy of a table that is made; "": none
	ShardRange int    // of that policy; 0: nothing said
	Batch      int    // documents in a batch, which is one transaction
	OnConflict string // "error", "skip" or "update", for an id that is there
	MaxErrors  int    // bad lines to let pass
	Rejects    string // file that bad lines are appended to; "": they are not kept
	Resume     bool   // continue an interrupted import of the same files
	Files      []string
}

// Check returns what is wrong with a configuration, in terms of the command's flags.
func (c *Config) Check() error {
	switch {
	case len(c.Files) == 0:
		return errors.New("no file given; example: sherd import packages.jsonl.gz --table packages --id id")
	case c.Table == "":
		return errors.New("--table is required: the table to load into")
	case c.IDField == "":
		return errors.New("--id is empty: name the field that holds the document's id")
	case c.IDField == c.DocField:
		return fmt.Errorf("--id and --doc both name the field %q", c.IDField)
	case !slices.Contains([]string{"error", "skip", "update"}, c.OnConflict):
		return fmt.Errorf("--on-conflict %s: use error, skip or update", c.OnConflict)
	case c.Batch < 1:
		return fmt.Errorf("--batch %d: a batch has at least one document", c.Batch)
	case c.ShardRange != 0 && c.ShardBy == "":
		return errors.New("--shard-range needs --shard-by")
	case c.MaxErrors < 0:
		return fmt.Errorf("--max-errors %d is negative", c.MaxErrors)
	case c.Resume && slices.Contains(c.Files, "-"):
		return errors.New("--resume cannot be used with standard input: give a file")
	}
	return nil
}

// Run loads the files of a configuration into its table. It shows its progress on messages.
// An error says what was loaded before it, which stays.
func Run(ctx context.Context, cfg Config, messages *os.File) (_ Summary, err error) {
	for _, name := range cfg.Files { // before a table is made for them
		if name == "-" {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return Summary{}, err
		}
	}
	conn, err := pgx.Connect(ctx, cfg.URL)
	if err != nil {
		return Summary{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	imp := &importer{cfg: cfg, conn: conn, messages: messages, started: time.Now()}
	if imp.target, err = openTarget(ctx, conn, cfg); err != nil {
		return Summary{}, err
	}
	if cfg.Rejects != "" {
		f, failed := os.OpenFile(cfg.Rejects, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if failed != nil {
			return Summary{}, failed
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		imp.rejects = f
	}
	imp.bar = newProgressBar(messages)
	for _, name := range cfg.Files {
		err = imp.file(ctx, name)
		imp.bar.end()
		if err != nil {
			return imp.summary(), imp.explain(ctx, err)
		}
	}
	return imp.summary(), nil
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
		text = humanize.Comma(n) + " documents were loaded before and stay"
	}
	if imp.keepsPlace() && s.Documents+s.Skipped > 0 {
		text += "; the same command with --resume goes on from there"
	}
	return fmt.Errorf("%w\n%s", err, text)
}
