package portal

import (
	"errors"
	"iter"
	"time"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Portal is a bound statement; it may have returned some of its rows.
type Portal struct {
	Statement *Statement
	Args      []types.Datum
	Done      bool // it has run to its end

	program *stmt.Program // what it runs; nil: it is not a query, or has not been run
	opening Opening       // what it reads
	next    func() ([]types.Datum, bool)
	stop    func()
	rows    int64      // of the command tag, once next has returned all
	err     error      // of the program
	rest    spool.List // rows that next returns, if the program was run to its end
	kept    bool       // next returns rows that are kept, and no longer uses the transaction

	scroll *scroll // of a cursor, and of a portal that FETCH has read; next goes through it
	broken bool    // a FETCH has failed
	binary bool    // FETCH answers in the binary format
	hold   bool    // a cursor WITH HOLD
	held   bool    // its transaction has committed: it closes with the session
	nest   int     // nesting level of the transaction or savepoint that opened it; it closes with that
	opened time.Time
}

// IsOpen reports whether the portal has begun to return its rows in parts, and has more.
func (p *Portal) IsOpen() bool { return p.next != nil }

// Tag returns the command tag of the portal's statement, if it is a query.
func (p *Portal) Tag(rows int64) string {
	if p.program == nil {
		return ""
	}
	return p.program.Tag(rows)
}

// Run emits the rows of an open portal, at most limit; 0 is all. The portal is suspended if there
// may be more. Otherwise it is done, and rows is the number for its tag.
func (p *Portal) Run(limit int, emit exec.Emit) (suspended bool, rows int64, err error) {
	for n := 0; limit <= 0 || n < limit; n++ {
		row, ok := p.next()
		if !ok {
			p.Done = true
			p.close()
			return false, p.rows, p.err
		}
		if err := emit(row); err != nil {
			return false, 0, err
		}
	}
	return true, 0, nil
}

var errClosed = errors.New("portal closed")

// start runs a program as a coroutine that stops after each row. run returns the number of rows for
// the command tag.
func (p *Portal) start(run func(emit exec.Emit) (int64, error)) {
	p.next, p.stop = iter.Pull(func(yield func([]types.Datum) bool) {
		rows, err := run(func(row []types.Datum) error {
			if !yield(row) {
				return errClosed
			}
			return nil
		})
		if !errors.Is(err, errClosed) {
			p.rows, p.err = rows, err
		}
	})
}

// finish runs a program to its end, and keeps its rows.
func (p *Portal) finish(mem *memory.Account, run func(emit exec.Emit) (int64, error)) error {
	p.rest.Begin(mem)
	rows, err := run(p.rest.Add)
	if err != nil {
		p.rest.Free()
		return err
	}
	p.rows = rows
	return p.returnRest()
}

// keepRest reads the rows that the portal has not returned yet, and keeps them. It no longer uses
// its transaction then.
func (p *Portal) keepRest(mem *memory.Account) error {
	if p.next == nil || p.kept {
		return nil
	}
	source, keep := p.next, p.rest.Add
	if p.scroll != nil {
		source, keep = p.scroll.read, p.scroll.kept.Add
	} else {
		p.rest.Begin(mem)
	}
	for {
		row, ok := source()
		if !ok {
			break
		}
		if err := keep(row); err != nil {
			return err
		}
	}
	p.stop()
	if p.scroll == nil {
		return p.returnRest()
	}
	p.kept, p.stop = true, func() {}
	return nil
}

// returnRest makes the portal return kept rows from now on.
func (p *Portal) returnRest() error {
	from, err := p.rest.From(0)
	if err != nil {
		return err
	}
	p.kept, p.stop = true, from.Close
	p.next = func() ([]types.Datum, bool) {
		row, ok, err := from.Next()
		if err != nil {
			p.err = err
		}
		return row, ok && err == nil
	}
	return nil
}

func (p *Portal) close() {
	if p.stop != nil {
		p.stop()
		p.next, p.stop = nil, nil
	}
}

// free closes the portal and forgets the rows that it keeps.
func (p *Portal) free() {
	p.close()
	p.rest.Free()
	if p.scroll != nil {
		p.scroll.free()
	}
}
