package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sherddb/sherd/integration/pgregress/psql"
)

// replay plays a script on both servers and counts what Sherd answers as PostgreSQL does. It lists
// the misses in a file of the directory, if that is not empty.
func (w *world) replay(ctx context.Context, script, directory string) (*tally, error) {
	steps, err := w.record(ctx, script)
	if err != nil {
		return nil, err
	}
	list := io.Discard
	if directory != "" {
		file, err := os.Create(filepath.Join(directory, script+".txt"))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		buffered := bufio.NewWriter(file)
		defer buffered.Flush()
		list = buffered
	}
	p, err := w.prepare(ctx, w.process.URL, script)
	if err != nil {
		return nil, err
	}
	defer p.end(ctx)
	t := &tally{Script: script}
	p.replay(ctx, steps, t, list)
	return t, ctx.Err()
}

// replay plays recorded steps. Variables that \gset set have this server's values.
func (p *player) replay(ctx context.Context, steps []*step, t *tally, list io.Writer) {
	values := map[string]string{}
	for _, s := range steps {
		if ctx.Err() != nil {
			return
		}
		if s.Kind == psql.Connect {
			p.switchUser(ctx, s.Args)
			continue
		}
		text := s.Text.With(values)
		got := p.run(ctx, text, s.After, s.replayData())
		here := stored(got, s.After)
		for name, value := range stored(s.answer, s.After) {
			if v, ok := here[name]; ok {
				value = v
			}
			delete(values, name)
			if value != nil {
				values[name] = *value
			}
		}
		if s.left {
			continue
		}
		v, why := lost, fmt.Sprint(got.lost)
		if got.lost == nil {
			v, why = compare(s.answer.results, got.results, s.ordered)
		}
		t.count(v)
		if v != passed {
			fmt.Fprintf(list, "-- %s:%d %s: %s\n%s\nwant\n%sgot\n%s\n", t.Script, s.Line, v, why, text,
				describeResults(s.answer.results), describeResults(got.results))
		}
	}
}
