// Package psql reads scripts for psql as psql does: statements and where they end, variables,
// backslash commands, \if, and the data of COPY. It knows what PostgreSQL's regression scripts use;
// commands that only change how psql prints are left out. The rules are those of the manual's page
// on psql.
package psql

import "strings"

// Kind is what a step of a script asks for.
type Kind uint8

// The kinds of steps.
const (
	Statement Kind = iota
	Connect        // \connect, with Args
	CopyFile       // \copy; Args[0] is the rest of its line
)

// Step is what psql would do next with its server.
type Step struct {
	Kind  Kind
	Text  Text     // of a statement
	After []string // the command that ended a statement in place of a semicolon: gset, gexec, gdesc …
	Args  []string
	Line  int // in the script, from 1: that of the statement's end
}

// Text is the text of a statement: pieces, from which some stand for variables whose values came from
// the server.
type Text []Piece

// Piece is text, or the name of a variable.
type Piece struct {
	Text     string
	Variable string
	Quote    byte // ' or " if psql is to quote the value, 0 if not
}

// With returns the text with the values of its variables.
func (t Text) With(values map[string]string) string {
	var b strings.Builder
	for _, p := range t {
		if p.Variable == "" {
			b.WriteString(p.Text)
			continue
		}
		b.WriteString(quoted(values[p.Variable], p.Quote))
	}
	return b.String()
}

// quoted returns a value as psql inserts it for :name, :'name' or :"name".
func quoted(value string, quote byte) string {
	switch quote {
	case '\'':
		value = strings.ReplaceAll(value, "'", "''")
		if strings.Contains(value, `\`) {
			return " E'" + strings.ReplaceAll(value, `\`, `\\`) + "'"
		}
		return "'" + value + "'"
	case '"':
		return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
	}
	return value
}

// Reader reads a script.
type Reader struct {
	Environment map[string]string // what \getenv reads

	lines      []string
	next       int    // index in lines of the line after the current one
	line       string // the current one
	at         int    // in it
	values     map[string]string
	asked      map[string]bool // variables whose values came from the server
	conditions []condition     // of the \if that are open
	escapes    bool            // standard_conforming_strings is off
	statement  statement
	stopped    bool
}

// condition is an \if with what follows it.
type condition struct {
	active bool
	taken  bool // a branch was active already
	outer  bool // the \if itself is active
}

// statement is the statement that is being read.
type statement struct {
	text    Text
	piece   strings.Builder
	begun   bool // it has more than white space and comments
	parens  int
	blocks  int      // of BEGIN ATOMIC in it that are open
	words   []string // the first four
	inside  inside
	comment int    // depth, if inside a comment
	tag     string // $tag$, if inside a dollar-quoted string
}

// inside is what the end of a line may lie in.
type inside uint8

const (
	insideNothing inside = iota
	insideString
	insideEscapes // a string with backslash escapes
	insideName
	insideDollars
	insideComment
)

// NewReader returns a Reader of a script's text.
func NewReader(text string) *Reader {
	return &Reader{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n"), values: map[string]string{},
		asked: map[string]bool{}}
}

// Values are the variables. It is changed by what the Reader reads, and by Store.
func (r *Reader) Values() map[string]string { return r.values }

// Store sets a variable to a value that came from the server; nil unsets it.
func (r *Reader) Store(name string, value *string) {
	if value == nil {
		delete(r.values, name)
		delete(r.asked, name)
		return
	}
	r.values[name] = *value
	r.asked[name] = true
}

// StandardStrings sets whether the server has standard_conforming_strings on.
func (r *Reader) StandardStrings(on bool) { r.escapes = !on }

// Data reads the data of a COPY FROM STDIN that has just been sent: the lines up to \. .
func (r *Reader) Data() string {
	var b strings.Builder
	for r.next < len(r.lines) {
		line := r.lines[r.next]
		r.next++
		if line == `\.` {
			break
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// Next returns the next step; ok is false at the end of the script.
func (r *Reader) Next() (step Step, ok bool) {
	for {
		for r.at < len(r.line) && !r.stopped {
			if step, ok := r.scan(); ok {
				return step, true
			}
		}
		if r.stopped {
			return Step{}, false
		}
		if r.next > 0 && (r.statement.begun || r.statement.inside != insideNothing) {
			r.add("\n")
		}
		if r.next == len(r.lines) {
			break
		}
		r.line, r.at = r.lines[r.next], 0
		r.next++
	}
	if r.statement.begun && r.statement.inside == insideNothing && r.active() {
		return r.take(nil), true
	}
	return Step{}, false
}

// active reports whether no \if around the current place leaves it out.
func (r *Reader) active() bool {
	n := len(r.conditions)
	return n == 0 || r.conditions[n-1].active
}

func (r *Reader) add(text string) { r.statement.piece.WriteString(text) }

// insert adds the value of a variable, or a reference to it if it may differ on another server.
func (r *Reader) insert(name string, quote byte) {
	if !r.asked[name] {
		r.add(quoted(r.values[name], quote))
		return
	}
	s := &r.statement
	s.endPiece()
	s.text = append(s.text, Piece{Variable: name, Quote: quote})
}

func (s *statement) endPiece() {
	if s.piece.Len() > 0 {
		s.text = append(s.text, Piece{Text: s.piece.String()})
		s.piece.Reset()
	}
}

// take ends the statement and returns it.
func (r *Reader) take(after []string) Step {
	r.statement.endPiece()
	step := Step{Kind: Statement, Text: r.statement.text, After: after, Line: r.next}
	r.statement = statement{}
	return step
}
