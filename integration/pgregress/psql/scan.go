package psql

import (
	"regexp"
	"slices"
	"strings"
)

var (
	variable = regexp.MustCompile(`^[A-Za-z0-9_\x{80}-\x{10ffff}]+`)
	word     = regexp.MustCompile(`^[A-Za-z_\x{80}-\x{10ffff}][A-Za-z0-9_$\x{80}-\x{10ffff}]*`)
	dollars  = regexp.MustCompile(`^\$([A-Za-z_\x{80}-\x{10ffff}][A-Za-z0-9_\x{80}-\x{10ffff}]*)?\$`)
	command  = regexp.MustCompile(`^\\([A-Za-z?!+]+|\\)`)
)

// scan reads what stands next in the current line. ok is true if that ends a step.
func (r *Reader) scan() (step Step, ok bool) {
	rest := r.line[r.at:]
	if r.statement.inside != insideNothing {
		r.move(r.scanInside(rest))
		return Step{}, false
	}
	switch {
	case strings.HasPrefix(rest, "--"):
		if r.statement.begun {
			r.add(rest)
		}
		r.at = len(r.line)
	case strings.HasPrefix(rest, "/*"):
		r.statement.inside, r.statement.comment = insideComment, 1
		r.copy(rest, 2)
	case rest[0] == ';' && r.statement.parens == 0 && r.statement.blocks == 0:
		return r.end()
	case rest[0] == ':':
		r.scanColon(rest)
	case rest[0] == '\\':
		return r.scanBackslash(rest)
	case rest[0] == '\'' || rest[0] == '"' || rest[0] == '$':
		r.scanQuote(rest)
	default:
		r.scanText(rest)
	}
	return Step{}, false
}

func (r *Reader) move(by int) { r.at += by }

// copy adds the first n bytes of the rest of the line to the statement.
func (r *Reader) copy(rest string, n int) {
	r.add(rest[:n])
	r.at += n
}

// end ends a statement at a semicolon.
func (r *Reader) end() (step Step, ok bool) {
	r.copy(";", 1)
	if !r.active() || !r.statement.begun {
		r.statement = statement{}
		return Step{}, false
	}
	return r.take(nil), true
}

// scanInside reads from inside a string, quoted name or comment. It returns how many bytes it read.
func (r *Reader) scanInside(rest string) int {
	s, n := &r.statement, 1
	switch s.inside {
	case insideString, insideEscapes:
		switch {
		case s.inside == insideEscapes && rest[0] == '\\' && len(rest) > 1, strings.HasPrefix(rest, "''"):
			n = 2
		case rest[0] == '\'':
			s.inside = insideNothing
		}
	case insideName:
		if rest[0] == '"' {
			s.inside = insideNothing
		}
	case insideDollars:
		if strings.HasPrefix(rest, s.tag) {
			n, s.inside = len(s.tag), insideNothing
		}
	case insideComment:
		n = s.scanComment(rest)
	}
	r.add(rest[:n])
	return n
}

func (s *statement) scanComment(rest string) int {
	switch {
	case strings.HasPrefix(rest, "/*"):
		s.comment++
		return 2
	case strings.HasPrefix(rest, "*/"):
		if s.comment--; s.comment == 0 {
			s.inside = insideNothing
		}
		return 2
	}
	return 1
}

// scanQuote reads the begin of a string or of a quoted name.
func (r *Reader) scanQuote(rest string) {
	s := &r.statement
	s.begun = true
	switch tag := dollars.FindString(rest); {
	case rest[0] == '\'' && r.escapes:
		s.inside = insideEscapes
	case rest[0] == '\'':
		s.inside = insideString
	case rest[0] == '"':
		s.inside = insideName
	case tag != "":
		s.inside, s.tag = insideDollars, tag
		r.copy(rest, len(tag))
		return
	}
	r.copy(rest, 1)
}

// scanColon reads a reference to a variable, or what else begins with a colon.
func (r *Reader) scanColon(rest string) {
	if strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, ":=") {
		r.statement.begun = true
		r.copy(rest, 2)
		return
	}
	ref := findReference(rest)
	_, set := r.values[ref.name]
	switch {
	case ref.isTest:
		r.statement.begun = true
		r.add(truth(set))
	case ref.name == "" || !set:
		r.statement.begun = true
		r.copy(rest, max(1, ref.length))
		return
	case ref.quote == 0 && !r.asked[ref.name]: // psql reads the value as if it stood in the script
		r.line = r.line[:r.at] + r.values[ref.name] + rest[ref.length:]
		return
	default:
		r.statement.begun = true
		r.insert(ref.name, ref.quote)
	}
	r.move(ref.length)
}

// reference is a reference to a variable: :name, :'name', :"name" or :{?name}.
type reference struct {
	name   string
	quote  byte
	isTest bool // whether the variable is set
	length int
}

// findReference returns the reference that a text begins with; its name is empty if there is none.
func findReference(text string) reference {
	if len(text) < 2 {
		return reference{}
	}
	if name, ok := strings.CutPrefix(text, ":{?"); ok {
		if name = variable.FindString(name); name != "" && strings.HasPrefix(text[3+len(name):], "}") {
			return reference{name: name, isTest: true, length: len(name) + 4}
		}
		return reference{}
	}
	if q := text[1]; q == '\'' || q == '"' {
		name := variable.FindString(text[2:])
		if name == "" || !strings.HasPrefix(text[2+len(name):], string(q)) {
			return reference{}
		}
		return reference{name: name, quote: q, length: len(name) + 3}
	}
	name := variable.FindString(text[1:])
	return reference{name: name, length: len(name) + 1}
}

func truth(b bool) string {
	if b {
		return "TRUE"
	}
	return "FALSE"
}

// scanText reads a word, or one character outside of words.
func (r *Reader) scanText(rest string) {
	s := &r.statement
	if w := word.FindString(rest); w != "" {
		s.begun = true
		r.scanWord(w, rest)
		return
	}
	switch c := rest[0]; {
	case c == '(':
		s.parens++
	case c == ')':
		s.parens = max(0, s.parens-1)
	case c == ' ' || c == '\t' || c == '\r' || c == '\f':
		if !s.begun {
			r.move(1)
			return
		}
		r.copy(rest, 1)
		return
	}
	s.begun = true
	n := 1
	if rest[0] >= '0' && rest[0] <= '9' { // letters after a digit do not begin a word
		n = len(variable.FindString(rest))
	}
	r.copy(rest, n)
}

// scanWord reads a word: it may be the prefix of a string, or belong to the body of a function.
func (r *Reader) scanWord(w, rest string) {
	s, lower, after := &r.statement, strings.ToLower(w), rest[len(w):]
	switch {
	case strings.HasPrefix(after, "'") && slices.Contains([]string{"e", "n", "b", "x"}, lower):
		s.inside = insideString
		if lower == "e" {
			s.inside = insideEscapes
		}
		r.copy(rest, len(w)+1)
		return
	case lower == "u" && strings.HasPrefix(after, "&'"):
		s.inside = insideString
		r.copy(rest, len(w)+2)
		return
	case lower == "u" && strings.HasPrefix(after, `&"`):
		s.inside = insideName
		r.copy(rest, len(w)+2)
		return
	}
	if len(s.words) < 4 {
		s.words = append(s.words, lower)
	}
	if s.definesRoutine() && s.parens == 0 {
		switch {
		case lower == "begin", lower == "case" && s.blocks > 0:
			s.blocks++
		case lower == "end" && s.blocks > 0:
			s.blocks--
		}
	}
	r.copy(rest, len(w))
}

// definesRoutine reports whether the statement begins as CREATE [OR REPLACE] FUNCTION | PROCEDURE.
func (s *statement) definesRoutine() bool {
	w := s.words
	if len(w) < 2 || w[0] != "create" {
		return false
	}
	if w = w[1:]; len(w) > 2 && w[0] == "or" && w[1] == "replace" {
		w = w[2:]
	}
	return w[0] == "function" || w[0] == "procedure"
}
