package parse

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Limits on texts, above which Parse returns an error without calling the parser.
const (
	FreeText  = 16 << 10  // texts up to here are not measured: they cannot overflow an 8 MiB stack
	MaxDepth  = 2500      // nesting of expressions, joins and set operations, as estimated by depth
	MaxText   = 64 << 20  // bytes
	MaxTokens = 4_000_000 // of a text; a tree costs some 200 bytes a token
)

// checkSize refuses texts that could crash the parser.
func checkSize(text string) error {
	if len(text) > MaxText {
		return pgerr.New(pgerr.ProgramLimitExceeded, "statement is too long").
			WithDetail("It has %d bytes, at most %d are allowed.", len(text), MaxText).WithHint("Load data with COPY.")
	}
	if len(text) <= FreeText {
		return nil
	}
	d := depthScan{text: text}
	d.run()
	if d.deepest > MaxDepth {
		return tooDeep()
	}
	if d.tokens > MaxTokens {
		return pgerr.New(pgerr.StatementTooComplex, "statement is too complex").
			WithDetail("It has more than %d symbols.", MaxTokens).WithHint(
			"Load data with COPY, or split the statement.",
		)
	}
	return nil
}

func tooDeep() *pgerr.Error {
	return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").
		WithHint(
			"Simplify the statement: it nests too many expressions, joins or set operations. A long chain of OR can " +
				"become IN, a long chain of UNION ALL can become VALUES.",
		)
}

// level is the inside of an open parenthesis or bracket.
type level struct {
	segment int // constructs since the last comma, AND or OR that may nest
	sticky  int // set operations and joins, which a comma does not end
	max     int // the deepest finished segment
}

func (l *level) depth() int { return max(l.max, l.segment) + l.sticky }

// depthScan computes an upper bound of the depth of a text's tree. Operators and keywords with
// operands count one each, in the segment between commas; parentheses add their own depth to the
// segment around them.
type depthScan struct {
	text    string
	at      int
	levels  []level
	cur     level
	deepest int
	outer   int // depth of the levels around cur
	tokens  int
}

func (d *depthScan) run() {
	for d.at < len(d.text) && d.deepest <= MaxDepth && d.tokens <= MaxTokens {
		d.token()
		d.deepest = max(d.deepest, d.outer+d.cur.depth())
	}
}

// token scans the next symbol, white space or comment.
func (d *depthScan) token() {
	c := d.text[d.at]
	switch {
	case c <= ' ':
		d.at++
		return
	case strings.HasPrefix(d.text[d.at:], "--"):
		d.skipTo("\n")
		return
	case strings.HasPrefix(d.text[d.at:], "/*"):
		d.comment()
		return
	}
	d.tokens++
	switch {
	case c == '\'':
		d.quoted(c, d.at > 0 && (d.text[d.at-1]|0x20) == 'e' && !wordBefore(d.text, d.at-1))
	case c == '"':
		d.quoted(c, false)
	case c == '$':
		d.dollar()
	case isWord(c):
		d.word()
	default:
		d.at++
		d.symbol(c)
	}
}

func (d *depthScan) symbol(c byte) {
	switch c {
	case '(', '[':
		d.outer += d.cur.depth() + 1
		d.levels = append(d.levels, d.cur)
		d.cur = level{}
	case ')', ']':
		d.close()
	case ',':
		d.endSegment()
	case ';':
		if len(d.levels) == 0 {
			d.cur = level{}
		}
	case '.':
	default:
		d.cur.segment++
	}
}

func (d *depthScan) close() {
	if len(d.levels) == 0 {
		return
	}
	inner := d.cur.depth() + 1
	d.cur = d.levels[len(d.levels)-1]
	d.levels = d.levels[:len(d.levels)-1]
	d.outer -= d.cur.depth() + 1
	d.cur.segment += inner
}

func (d *depthScan) endSegment() {
	d.cur.max = max(d.cur.max, d.cur.segment)
	d.cur.segment = 0
}

func (d *depthScan) word() {
	start := d.at
	for d.at < len(d.text) && (isWord(d.text[d.at]) || d.text[d.at] == '$') {
		d.at++
	}
	if d.at-start > len("intersect") {
		return
	}
	switch strings.ToLower(d.text[start:d.at]) {
	case "and", "or":
		d.endSegment() // the grammar flattens their chains
	case "join", "union", "intersect", "except":
		d.cur.sticky++
	case "not", "is", "isnull", "notnull", "like", "ilike", "similar", "in", "between", "collate", "at", "case",
		"overlaps", "escape":
		d.cur.segment++
	}
}

// quoted skips a string or a quoted name. A doubled quote starts the next one, which does not
// change the count.
func (d *depthScan) quoted(quote byte, escapes bool) {
	d.at++
	for d.at < len(d.text) {
		c := d.text[d.at]
		d.at++
		switch {
		case c == quote:
			if escapes && d.at < len(d.text) && d.text[d.at] == quote {
				d.at++
				continue
			}
			return
		case c == '\\' && escapes:
			d.at++
		}
	}
}

// dollar skips a dollar-quoted string; a parameter is one symbol.
func (d *depthScan) dollar() {
	end := d.at + 1
	for end < len(d.text) && isWord(d.text[end]) {
		end++
	}
	if end >= len(d.text) || d.text[end] != '$' || end > d.at+1 && d.text[d.at+1] >= '0' && d.text[d.at+1] <= '9' {
		d.at = end
		return
	}
	tag := d.text[d.at : end+1]
	d.at = end + 1
	d.skipTo(tag)
}

func (d *depthScan) skipTo(end string) {
	if i := strings.Index(d.text[d.at:], end); i >= 0 {
		d.at += i + len(end)
		return
	}
	d.at = len(d.text)
}

// comment skips a comment, which may contain others.
func (d *depthScan) comment() {
	for depth := 0; d.at < len(d.text); {
		switch {
		case strings.HasPrefix(d.text[d.at:], "/*"):
			depth++
			d.at += 2
		case strings.HasPrefix(d.text[d.at:], "*/"):
			d.at += 2
			if depth--; depth == 0 {
				return
			}
		default:
			d.at++
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// wordBefore reports whether a word continues to the left of i, so that the letter at i is not a
// string prefix.
func wordBefore(text string, i int) bool { return i > 0 && (isWord(text[i-1]) || text[i-1] == '$') }
