package comparison

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Case is a statement that runs on both servers.
type Case struct {
	Theme  string // the name of its file
	Name   string
	Text   string
	Params []Param
	Writes bool // it is rolled back
}

// Param is a parameter of a statement.
type Param struct {
	Type  string
	Value *string // nil is null
}

// ReadCases reads the files of cases in a directory of files, ordered by name.
func ReadCases(files fs.FS, pattern string) ([]Case, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, err
	}
	var out []Case
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		theme := strings.TrimSuffix(path.Base(name), path.Ext(name))
		cases, err := readFile(theme, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, cases...)
	}
	seen := map[string]bool{}
	for _, c := range out {
		if seen[c.Name] {
			return nil, fmt.Errorf("two cases are named %s", c.Name)
		}
		seen[c.Name] = true
	}
	return out, nil
}

// separator is the line between the input of a directive and what is expected.
const separator = "----"

// readFile reads the cases of one file.
func readFile(theme string, text []byte) (out []Case, err error) {
	var directive string
	var input []string
	expected := false // the line is of an expected answer, which an empty line ends
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case expected:
			expected = line != ""
		case line == separator:
			c, err := NewCase(theme, directive, strings.Join(input, "\n"))
			if err != nil {
				return nil, err
			}
			out, directive, input, expected = append(out, c), "", nil, true
		case directive == "":
			if line != "" && !strings.HasPrefix(line, "#") {
				directive = line
			}
		default:
			input = append(input, line)
		}
	}
	if directive != "" {
		return nil, fmt.Errorf("%s has no line %s", directive, separator)
	}
	return out, lines.Err()
}

var paramLine = regexp.MustCompile(`^\$(\d+) ([a-z0-9]+(?:\[\])?): (.*)$`)

// NewCase makes a case of the words of a directive and its input.
func NewCase(theme, directive, input string) (Case, error) {
	words := strings.Fields(directive)
	if len(words) != 2 || words[0] != "case" && words[0] != "write" {
		return Case{}, fmt.Errorf("%q is not `case NAME` or `write NAME`", directive)
	}
	c := Case{Theme: theme, Name: words[1], Writes: words[0] == "write"}
	var text []string
	for line := range strings.SplitSeq(strings.TrimSpace(input), "\n") {
		m := paramLine.FindStringSubmatch(line)
		if m == nil {
			text = append(text, line)
			continue
		}
		if m[1] != strconv.Itoa(len(c.Params)+1) {
			return c, fmt.Errorf("%s: parameter $%s is not in order", c.Name, m[1])
		}
		if oidOf[m[2]] == 0 {
			return c, fmt.Errorf("%s: type %s of $%s is unknown", c.Name, m[2], m[1])
		}
		c.Params = append(c.Params, Param{m[2], paramValue(m[3])})
	}
	c.Text = strings.TrimSuffix(strings.Join(text, "\n"), ";")
	if c.Text == "" {
		return c, fmt.Errorf("%s has no statement", c.Name)
	}
	return c, nil
}

var series = regexp.MustCompile(`^\{(\d+)\.\.(\d+)\}$`)

// paramValue returns the text of a parameter's value.
func paramValue(s string) *string {
	if s == "NULL" {
		return nil
	}
	if m := series.FindStringSubmatch(s); m != nil {
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(m[2])
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintf(&b, ",%d", i)
		}
		s = "{" + strings.TrimPrefix(b.String(), ",") + "}"
	}
	return &s
}

// oidOf has the OIDs of the types of parameters.
var oidOf = map[string]uint32{
	"bool": 16, "int8": 20, "int2": 21, "int4": 23, "text": 25, "float4": 700, "float8": 701, "varchar": 1043,
	"date": 1082, "timestamp": 1114, "timestamptz": 1184, "interval": 1186, "numeric": 1700, "jsonb": 3802,
	"jsonpath": 4072, "int2[]": 1005, "int4[]": 1007, "int8[]": 1016, "text[]": 1009, "varchar[]": 1015,
}

// Ordered reports whether a statement orders its rows: its last part has an ORDER BY that is not in
// parentheses.
func (c *Case) Ordered() bool {
	depth, last := 0, -1
	upper := strings.ToUpper(c.Text)
	for i, r := range upper {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case depth == 0 && strings.HasPrefix(upper[i:], "ORDER BY"):
			last = i
		}
	}
	return last >= 0
}
