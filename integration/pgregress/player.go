package main

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/sherddb/sherd/integration/pgregress/psql"
)

// player plays steps of scripts on one server.
type player struct {
	url      string
	database string
	user     string // the URL's if empty
	timeout  time.Duration
	session  *session // nil after the connection was lost
}

// answer is what a server answers to a step.
type answer struct {
	results []result
	lost    error // why there is none
}

func (p *player) connect(ctx context.Context, user string) (err error) {
	p.close()
	p.user = user
	p.session, err = connect(ctx, p.url, p.database, user)
	return err
}

func (p *player) close() {
	if p.session != nil {
		p.session.close()
		p.session = nil
	}
}

// switchUser does what \connect asks for. If the user cannot connect, the first one does.
func (p *player) switchUser(ctx context.Context, args []string) {
	user := ""
	if len(args) > 1 && args[1] != "-" {
		user = args[1]
	}
	if p.connect(ctx, user) != nil {
		_ = p.connect(ctx, "") // the next statement tries again
	}
}

// run runs a text. after is the command of psql that ended it; data returns what COPY FROM STDIN
// reads.
func (p *player) run(ctx context.Context, text string, after []string, data func() (string, bool)) answer {
	if p.session == nil {
		if err := p.connect(ctx, p.user); err != nil {
			return answer{lost: err}
		}
	}
	var a answer
	if len(after) > 0 && after[0] == "gdesc" {
		a.results, a.lost = p.session.describe(text, p.timeout)
	} else {
		a.results, a.lost = p.session.query(text, p.timeout, data)
	}
	if a.lost != nil {
		p.close()
		return a
	}
	if len(after) > 0 && after[0] == "gexec" && len(a.results) > 0 {
		for _, row := range a.results[len(a.results)-1].rows {
			for _, v := range row {
				if v != nil && a.lost == nil {
					more := p.run(ctx, *v, nil, nil)
					a.results, a.lost = append(a.results, more.results...), more.lost
				}
			}
		}
	}
	return a
}

// stored returns the variables that \gset would set from an answer.
func stored(a answer, after []string) map[string]*string {
	if len(after) == 0 || after[0] != "gset" || len(a.results) == 0 {
		return nil
	}
	last := a.results[len(a.results)-1]
	if last.code != "" || len(last.rows) != 1 {
		return nil
	}
	prefix := strings.Join(after[1:], "")
	out := map[string]*string{}
	for i, name := range last.columns {
		out[prefix+name] = last.rows[0][i]
	}
	return out
}

// playAll plays a whole script.
func (p *player) playAll(ctx context.Context, r *psql.Reader) (steps []*step) {
	for {
		next, ok := r.Next()
		if !ok || ctx.Err() != nil {
			return steps
		}
		s := &step{Step: next}
		steps = append(steps, s)
		switch next.Kind {
		case psql.Connect:
			p.switchUser(ctx, next.Args)
			continue
		case psql.CopyFile:
			if !s.copyFile(r) {
				steps = steps[:len(steps)-1]
				continue
			}
			s.answer = p.run(ctx, s.Text.With(nil), nil, s.replayData())
		default:
			s.answer = p.run(ctx, s.Text.With(r.Values()), s.After, func() (string, bool) {
				text := r.Data()
				s.data = append(s.data, text)
				return text, true
			})
		}
		for name, value := range stored(s.answer, s.After) {
			r.Store(name, value)
		}
		if p.session != nil {
			r.StandardStrings(p.session.strings)
		}
	}
}

// step is a step of a script with what PostgreSQL answered.
type step struct {
	psql.Step
	data    []string // that COPY FROM STDIN read
	answer  answer
	ordered bool // whether the order of rows counts
	left    bool // out of the count
}

// replayData returns the data again, to one COPY after the other.
func (s *step) replayData() func() (string, bool) {
	rest := s.data
	return func() (string, bool) {
		if len(rest) == 0 {
			return "", false
		}
		text := rest[0]
		rest = rest[1:]
		return text, true
	}
}

var copyFile = regexp.MustCompile(`(?is)^\s*(.+?)\s+(from|to)\s+('(?:[^']|'')*'|\S+)(.*)$`)

// copyFile makes the COPY of a \copy: psql reads or writes the file, the server sees STDIN or
// STDOUT. It returns false if it cannot.
func (s *step) copyFile(r *psql.Reader) bool {
	m := copyFile.FindStringSubmatch(s.Args[0])
	if m == nil {
		return false
	}
	what, to, file, rest := m[1], strings.EqualFold(m[2], "to"), strings.Trim(m[3], "'"), m[4]
	text := "COPY " + what + " TO STDOUT " + rest
	if !to {
		text = "COPY " + what + " FROM STDIN " + rest
		if file == "stdin" || file == "pstdin" {
			s.data = []string{r.Data()}
		} else {
			content, err := os.ReadFile(file)
			if err != nil {
				return false
			}
			s.data = []string{string(content)}
		}
	}
	s.Kind, s.Text = psql.Statement, psql.Text{{Text: text}}
	return true
}

// record plays a script twice on PostgreSQL. Steps whose answers differ are left out.
func (w *world) record(ctx context.Context, script string) (steps []*step, err error) {
	var runs [2][]*step
	for i := range runs {
		p, err := w.prepare(ctx, w.reference.URL(), script)
		if err != nil {
			return nil, err
		}
		r, err := w.reader(script)
		if err != nil {
			return nil, err
		}
		runs[i] = p.playAll(ctx, r)
		p.end(ctx)
	}
	if len(runs[0]) != len(runs[1]) {
		return nil, errors.New("the script takes another way in its second run")
	}
	for i, s := range runs[0] {
		text := s.Text.With(nil)
		s.ordered = isOrdered(text)
		v, _ := compare(s.answer.results, runs[1][i].answer.results, s.ordered)
		s.left = s.Kind == psql.Connect || isExplain(text) || v != passed || s.answer.lost != nil || s.needsLibrary()
	}
	return runs[0], nil
}

// needsLibrary reports whether PostgreSQL did not find its library of test functions (58P01).
func (s *step) needsLibrary() bool {
	for _, r := range s.answer.results {
		if r.code == "58P01" {
			return true
		}
	}
	return false
}
