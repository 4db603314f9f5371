package stmt

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// recorded is a ResultWriter that notes what a client sees. Methods that no test needs are nil.
type recorded struct {
	ResultWriter
	seen []string
	copy []string // what the client sends
}

func (r *recorded) note(what string) error {
	r.seen = append(r.seen, what)
	return nil
}

func (r *recorded) Describe([]Column) error               { return r.note("describe") }
func (r *recorded) Row(row []types.Datum) error           { return r.note("row " + row[0].S[:1]) }
func (r *recorded) Complete(tag string) error             { return r.note(tag) }
func (r *recorded) Notice(n *pgerr.Error) error           { return r.note("notice " + n.Message) }
func (r *recorded) CopyIn(CopyFormat) (CopyReader, error) { return r, r.note("copy") }

func (r *recorded) Next(context.Context) ([]byte, error) {
	if len(r.copy) == 0 {
		return nil, io.EOF
	}
	b := []byte(r.copy[0])
	r.copy = r.copy[1:]
	return b, nil
}

var (
	errConflict = pgerr.New(pgerr.SerializationFailure, "conflict")
	errMoved    = error(&txn.MovedError{})
)

// script is a statement that is all of its transaction, and what its runs and commits meet in turn.
type script struct {
	w        *HoldingWriter
	runs     []error
	commits  []error
	restarts int
	write    func(w *HoldingWriter, run int) error
}

func next(list *[]error) error {
	if len(*list) == 0 {
		return nil
	}
	err := (*list)[0]
	*list = (*list)[1:]
	return err
}

func (s *script) play(t *testing.T) error {
	t.Helper()
	run := 0
	err := Autocommit(t.Context(), s.w, func() error {
		run++
		if err := s.write(s.w, run); err != nil {
			return err
		}
		return next(&s.runs)
	}, func() error { return next(&s.commits) }, func() error {
		s.restarts++
		return nil
	})
	if err == nil {
		err = s.w.Send()
	}
	return err
}

// answer is what a statement returns: a row and a notice, whose texts are of the run.
func answer(w *HoldingWriter, run int) error {
	n := string(rune('0' + run))
	return errors.Join(
		w.Describe([]Column{{Name: "v"}}), w.Row([]types.Datum{types.NewText(n)}),
		w.Notice(pgerr.New(pgerr.Warning, "%s", n)), w.Complete("INSERT 0 1"),
	)
}

// TestAutocommit: a statement is run again only if the client has seen nothing, and after errors that another run may
// not meet. The client gets what the last run has returned, once.
func TestAutocommit(t *testing.T) {
	long := strings.Repeat("x", maxHeld+1)
	for _, c := range []struct {
		what          string
		alone, hold   bool
		runs, commits []error
		write         func(*HoldingWriter, int) error
		restarts      int
		fails         bool
		want          string
	}{
		{what: "no conflict", alone: true, hold: true, want: "describe, row 1, notice 1, INSERT 0 1"},
		{
			what: "conflicts at the commit", alone: true, hold: true, commits: []error{errConflict, errConflict}, restarts: 2,
			want: "describe, row 3, notice 3, INSERT 0 1",
		},
		{
			what: "a move during the statement", alone: true, hold: true, runs: []error{errMoved}, restarts: 1,
			want: "describe, row 2, notice 2, INSERT 0 1",
		},
		{
			what: "a conflict during the statement is for Attempts", alone: true, hold: true, runs: []error{errConflict}, fails: true,
			want: "notice 1",
		},
		{
			what: "another error at the commit", alone: true, hold: true, fails: true, want: "notice 1",
			commits: []error{pgerr.New(pgerr.UniqueViolation, "duplicate key")},
		},
		{
			what: "the client has seen the answer", alone: true, commits: []error{errConflict}, fails: true,
			want: "describe, row 1, notice 1",
		},
		{
			what: "not all of its transaction", hold: true, commits: []error{errConflict}, fails: true,
			want: "describe, row 1, notice 1",
		},
		{
			what: "rows that are too long to be kept", alone: true, hold: true, commits: []error{errConflict}, fails: true, want: "row x",
			write: func(w *HoldingWriter, _ int) error { return w.Row([]types.Datum{types.NewText(long)}) },
		},
		{
			what: "a notice that cannot wait", alone: true, hold: true, commits: []error{errConflict}, fails: true,
			want: "describe, row 1, notice 1, notice now",
			write: func(w *HoldingWriter, n int) error {
				return errors.Join(answer(w, n), w.NoticeNow(pgerr.New(pgerr.Warning, "now")))
			},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := &recorded{}
			s := &script{w: NewHoldingWriter(r, t.TempDir(), c.alone), runs: c.runs, commits: c.commits, write: c.write}
			if s.write == nil {
				s.write = answer
			}
			if c.hold {
				s.w.Hold()
			}
			if err := s.play(t); (err != nil) != c.fails || s.restarts != c.restarts {
				t.Errorf("got %v after %d restarts, want %d", err, s.restarts, c.restarts)
			}
			if got := strings.Join(r.seen, ", "); got != c.want {
				t.Errorf("the client saw %q, want %q", got, c.want)
			}
		})
	}
}

// TestCopyAgain: the client of a COPY is asked for its data once, and each run reads all of it.
func TestCopyAgain(t *testing.T) {
	r := &recorded{copy: []string{"a", "b", "c"}}
	var read []string
	s := &script{w: NewHoldingWriter(r, t.TempDir(), true), commits: []error{errConflict}, write: func(w *HoldingWriter, run int) error {
		in, err := w.CopyIn(CopyFormat{Columns: 1})
		text := ""
		for err == nil {
			var b []byte
			b, err = in.Next(t.Context())
			text += string(b)
		}
		if read = append(read, text); err != io.EOF {
			return err
		}
		return w.Complete("COPY 3")
	}}
	if err := s.play(t); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read, []string{"abc", "abc"}) || strings.Join(r.seen, ", ") != "copy, COPY 3" {
		t.Errorf("read %q, the client saw %q", read, r.seen)
	}
}
