package comparison

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// report prints outcomes as they come, and sums them up.
type report struct {
	out      io.Writer
	outcomes []*outcome
}

func (r *report) head() {
	fmt.Fprintf(r.out, "%-34s %12s %12s %8s  %s\n", "case", "PostgreSQL", "Sherd", "ratio", "rows")
}

func (r *report) add(o *outcome) {
	r.outcomes = append(r.outcomes, o)
	ratio, rows := "-", "equal"
	if o.problem == "" {
		ratio = fmt.Sprintf("%.2f", o.ratio())
	} else {
		rows = o.problem
	}
	if o.wrong != "" {
		rows = "WRONG: " + o.wrong
	}
	fmt.Fprintf(r.out, "%-34s %12s %12s %8s  %s\n", o.Name, millis(o.postgres), millis(o.sherd), ratio, rows)
}

func millis(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f ms", d.Seconds()*1000)
}

// summary prints a line for each theme, and one for all.
func (r *report) summary() {
	fmt.Fprintf(r.out, "\n%-20s %6s %6s %8s %6s %6s %9s %9s\n", "theme", "cases", "wrong", "no ratio", "> 2x",
		"> 10x", "geometric", "worst")
	var themes []string
	of := map[string][]*outcome{}
	for _, o := range r.outcomes {
		if of[o.Theme] == nil {
			themes = append(themes, o.Theme)
		}
		of[o.Theme] = append(of[o.Theme], o)
	}
	for _, t := range themes {
		r.line(t, of[t])
	}
	if len(themes) > 1 {
		r.line("all", r.outcomes)
	}
}

func (r *report) line(name string, outcomes []*outcome) {
	var wrong, none, two, ten int
	logs, worst := 0.0, 0.0
	for _, o := range outcomes {
		if o.wrong != "" {
			wrong++
		}
		if o.problem != "" {
			none++
			continue
		}
		logs, worst = logs+math.Log(o.ratio()), max(worst, o.ratio())
		if o.ratio() > 2 {
			two++
		}
		if o.ratio() > 10 {
			ten++
		}
	}
	mean := "-"
	if n := len(outcomes) - none; n > 0 {
		mean = fmt.Sprintf("%.2f", math.Exp(logs/float64(n)))
	}
	fmt.Fprintf(r.out, "%-20s %6d %6d %8d %6d %6d %9s %9.2f\n", name, len(outcomes), wrong, none, two, ten, mean, worst)
}

// wrong returns the names of the cases whose rows differ.
func (r *report) wrong() (names []string) {
	for _, o := range r.outcomes {
		if o.wrong != "" {
			names = append(names, o.Name)
		}
	}
	return names
}

// indent writes a plan below its case.
func (r *report) indent(lines []string) {
	for _, l := range lines {
		fmt.Fprintln(r.out, "    "+strings.TrimRight(l, " "))
	}
}
