package importer

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Summary is what an import has done.
type Summary struct {
	Table     string  `json:"table"`
	Files     int     `json:"files"`
	Lines     int64   `json:"lines"`
	Documents int64   `json:"documents"` // inserted or replaced
	Skipped   int64   `json:"skipped"`   // were there already (--on-conflict skip)
	Resumed   int64   `json:"resumed"`   // lines that an earlier run had dealt with
	Rejected  int64   `json:"rejected"`
	Bytes     int64   `json:"bytes"` // of JSON text sent
	Seconds   float64 `json:"seconds"`
}

// Print writes a summary as a sentence, or as JSON.
func (s Summary) Print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(s)
	}
	text := fmt.Sprintf(
		"%s: %s documents, %s, in %.1f s (%s documents/s)",
		s.Table, humanize.Comma(s.Documents), humanize.Bytes(uint64(s.Bytes)), s.Seconds,
		humanize.Comma(int64(float64(s.Documents)/max(s.Seconds, 1e-3))),
	)
	for _, part := range []struct {
		n    int64
		what string
	}{{s.Skipped, "skipped"}, {s.Rejected, "rejected"}, {s.Resumed, "lines loaded before"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", humanize.Comma(part.n), part.what)
		}
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

// progressBar shows how far a file is: a bar on a terminal, a line now and then elsewhere.
type progressBar struct {
	out      *os.File
	terminal bool
	shown    time.Time
	drawn    bool
}

// plainInterval is the time between lines if there is no terminal.
const plainInterval = 5 * time.Second

func newProgressBar(out *os.File) *progressBar {
	st, err := out.Stat()
	return &progressBar{out: out, terminal: err == nil && st.Mode()&os.ModeCharDevice != 0, shown: time.Now()}
}

// fileProgress is a moment of a file's import.
type fileProgress struct {
	name       string
	read, size int64 // bytes of the file; size 0 is unknown
	documents  int64
	bytes      int64
	took       time.Duration
}

func (b *progressBar) show(p fileProgress) {
	interval := plainInterval
	if b.terminal {
		interval = 100 * time.Millisecond
	}
	if time.Since(b.shown) < interval {
		return
	}
	b.shown = time.Now()
	if b.terminal {
		fmt.Fprintf(b.out, "\r%s\x1b[K", p.text(24))
		b.drawn = true
		return
	}
	fmt.Fprintln(b.out, p.text(0))
}

// end leaves the bar, so that messages begin on a line of their own.
func (b *progressBar) end() {
	if b.drawn {
		fmt.Fprintln(b.out)
		b.drawn = false
	}
}

// text is the progress as a line, with a bar of that width if it is not 0.
func (p fileProgress) text(width int) string {
	text := p.name
	share := 0.0
	if p.size > 0 {
		share = min(1, float64(p.read)/float64(p.size))
		if width > 0 {
			full := int(share * float64(width))
			text += " [" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
		}
		text += fmt.Sprintf(" %3.0f%%", share*100)
	}
	seconds := max(p.took.Seconds(), 1e-3)
	text += fmt.Sprintf(
		"  %s documents  %s  %s/s", humanize.Comma(p.documents), humanize.Bytes(uint64(p.bytes)),
		humanize.Comma(int64(float64(p.documents)/seconds)),
	)
	if share > 0 && share < 1 {
		left := time.Duration(float64(p.took) * (1 - share) / share)
		text += "  " + left.Round(time.Second).String() + " left"
	}
	return text
}
