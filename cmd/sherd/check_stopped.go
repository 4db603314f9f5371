package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/verify/stopped"
)

// checkStopped checks data directories of nodes of one cluster; it writes its progress to tell.
func checkStopped(ctx context.Context, data []string, temp string, asJSON bool, out, tell io.Writer) (err error) {
	version, err := release()
	if err != nil {
		return err
	}
	var dirs []*catalog.DataDir
	for _, path := range data {
		dir, err := catalog.ReadDataDir(path, version.Release)
		if err != nil {
			return err
		}
		defer dir.Close()
		dirs = append(dirs, dir)
	}
	scratch, err := os.MkdirTemp(temp, "sherd-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	p := newCheckPrinter(asJSON, out)
	err = stopped.Check(ctx, stopped.Config{
		Dirs: dirs, Scratch: scratch, Release: version.Release, Version: version.To,
		Logger: slog.New(slog.DiscardHandler),
		Progress: everyNow(func(fragment string, n int64, unit string) {
			if unit == "bytes" {
				fmt.Fprintf(tell, "%s: %s of tables read\n", fragment, humanize.Bytes(uint64(n)))
			} else {
				fmt.Fprintf(tell, "%s: %s keys checked\n", fragment, humanize.Comma(n))
			}
		}),
	}, func(check, subject string, ok bool, detail string) error {
		return p.row(checkRow{check, subject, ok, detail})
	})
	if err != nil {
		return err
	}
	return p.failed
}

const tellEvery = 5 * time.Second

// everyNow passes on one call in each tellEvery.
func everyNow(tell func(fragment string, n int64, unit string)) func(string, int64, string) {
	last := time.Now()
	return func(fragment string, n int64, unit string) {
		if now := time.Now(); now.Sub(last) >= tellEvery {
			last = now
			tell(fragment, n, unit)
		}
	}
}
