package outline

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// Notes says what a description has, and adds what only the executor knows. Any func may be nil.
type Notes struct {
	// Route names the fragments and buckets of a route: "fragments: orders$0, orders$1; buckets:
	// 0-349524".
	Route func(*plan.Route) string
	// Index names the fragments and buckets where the entries of a global index are looked up.
	Index func(*plan.IndexScan) string
	// Part says to what a Gather's reads are restricted besides its route.
	Part func(*plan.Gather) []Property
	// Measured returns what a run measured of a step; nil: there was no run.
	Measured func(plan.Node) Measured
	// Env prints constants; nil prints those of reg* types as numbers.
	Env *types.Env

	Costs   bool // with the planner's estimates
	Verbose bool // with the columns that steps return, and the schemas of tables
}

// Measured is what a run measured of a step.
type Measured struct {
	Actual *Actual    // nil: not known
	Work   []Property // what each fragment did
}

// Actual is what a step did, summed over the fragments and the times that it ran.
type Actual struct {
	Loops   int64 // 0: it never ran
	Rows    int64
	Removed int64         // by its filter
	Startup time.Duration // until its first row
	Total   time.Duration
	Timed   bool
	Sort    Sort
}

// Sort is how a step sorted, in the run that took most.
type Sort struct {
	Method string // "": it did not
	Bytes  int64
	Disk   bool  // the bytes are of a file, not of memory
	Groups int64 // of an incremental sort: how many it has sorted
	Sum    int64 // of an incremental sort: bytes of all groups
}

// Outline is the description of a plan.
type Outline struct {
	Root *Step
	// Properties are of the whole: planning time, execution time.
	Properties []Property
}

// Step is a step of a plan.
type Step struct {
	Title      string     // of its first line, in text
	Label      string     // of a subquery or a WITH query: the line above it, in text
	Relation   string     // to the step above: Outer, Inner, Member, InitPlan, SubPlan
	Kind       []Property // its type, and how it works
	Target     []Property // what it reads or joins
	Estimate   *plan.Estimate
	Actual     *Actual
	Properties []Property
	Inputs     []*Step
}

// Property is something that is said of a step or a plan.
type Property struct {
	Key string
	// Value is a string, an int64, a bool, a Number, a []string, an Object or Objects.
	Value any
	// Text are the lines of it in text, if they are not its key and value.
	Text []string
	In   Form
}

// Form says in which forms a property is.
type Form uint8

// Forms.
const (
	Everywhere Form = iota
	Structured      // not in text
	OnlyText
)

// Number is a number that is printed with some decimals.
type Number struct {
	Value    float64
	Decimals int
}

func (n Number) String() string { return strconv.FormatFloat(n.Value, 'f', n.Decimals, 64) }

// Object is a list of properties that is itself a value.
type Object []Property

// Objects is a list of them, each of a name.
type Objects struct {
	Name string
	List []Object
}

// Milliseconds returns a time as a number.
func Milliseconds(d time.Duration) Number { return Number{d.Seconds() * 1000, 3} }

// costUnit is what a row that is read in sequence costs, in units of PostgreSQL's planner: its
// cpu_tuple_cost.
const costUnit = 0.01

func cost(c float64) Number { return Number{c * costUnit, 2} }

// expected is how many rows are printed of an estimate.
func expected(rows float64) int64 { return int64(math.Min(math.RoundToEven(rows), 1e15)) }

// properties lists all properties of a step for the forms that have keys.
func (s *Step) properties() Object {
	out := Object(slices.Clone(s.Kind))
	if s.Relation != "" {
		out = append(out, Property{Key: "Parent Relationship", Value: s.Relation})
	}
	if s.Label != "" {
		out = append(out, Property{Key: "Subplan Name", Value: s.Label})
	}
	out = append(out, Property{Key: "Parallel Aware", Value: false}, Property{Key: "Async Capable", Value: false})
	out = append(out, s.Target...)
	if e := s.Estimate; e != nil {
		out = append(out, Property{Key: "Startup Cost", Value: cost(e.Startup)},
			Property{Key: "Total Cost", Value: cost(e.Total)},
			Property{Key: "Plan Rows", Value: expected(e.Rows)},
			Property{Key: "Plan Width", Value: expected(e.Width)})
	}
	if s.Actual != nil {
		out = append(out, s.Actual.properties()...)
	}
	for _, p := range s.Properties {
		if p.In != OnlyText {
			out = append(out, p)
		}
	}
	if len(s.Inputs) > 0 {
		plans := Objects{Name: "Plan"}
		for _, in := range s.Inputs {
			plans.List = append(plans.List, in.properties())
		}
		out = append(out, Property{Key: "Plans", Value: plans})
	}
	return out
}

// properties lists what was measured, of each time that the step ran as PostgreSQL does.
func (a *Actual) properties() []Property {
	loops := max(a.Loops, 1)
	var out []Property
	if a.Timed {
		out = append(out,
			Property{Key: "Actual Startup Time", Value: Milliseconds(a.Startup / time.Duration(loops))},
			Property{Key: "Actual Total Time", Value: Milliseconds(a.Total / time.Duration(loops))})
	}
	return append(out, Property{Key: "Actual Rows", Value: a.perLoop(a.Rows)},
		Property{Key: "Actual Loops", Value: a.Loops})
}

// perLoop is how many of some rows there are in one run, on average.
func (a *Actual) perLoop(rows int64) int64 {
	return int64(math.RoundToEven(float64(rows) / float64(max(a.Loops, 1))))
}

func (a *Actual) text() string {
	if a.Loops == 0 {
		return " (never executed)"
	}
	p := a.properties()
	if !a.Timed {
		return fmt.Sprintf(" (actual rows=%d loops=%d)", p[0].Value, p[1].Value)
	}
	return fmt.Sprintf(" (actual time=%s..%s rows=%d loops=%d)", p[0].Value, p[1].Value, p[2].Value, p[3].Value)
}

// Text returns the outline as lines of text.
func (o *Outline) Text() []string {
	var lines []string
	o.Root.write(&lines, 0, false)
	for _, p := range o.Properties {
		lines = append(lines, p.lines()...)
	}
	return lines
}

// write adds a step to lines at a column, behind an arrow if it is an input.
func (s *Step) write(lines *[]string, col int, arrow bool) {
	add := func(col int, text string) { *lines = append(*lines, strings.Repeat(" ", col)+text) }
	if s.Label != "" {
		add(col, s.Label)
		col += 2
	}
	title, inside := s.Title, col+2
	if e := s.Estimate; e != nil {
		title += fmt.Sprintf("  (cost=%s..%s rows=%d width=%d)",
			cost(e.Startup), cost(e.Total), expected(e.Rows), expected(e.Width))
	}
	if s.Actual != nil {
		title += s.Actual.text()
	}
	if arrow {
		title, inside = "->  "+title, inside+4
	}
	add(col, title)
	for _, p := range s.Properties {
		for _, line := range p.lines() {
			add(inside, line)
		}
	}
	for _, in := range s.Inputs {
		in.write(lines, inside, true)
	}
}

// lines prints a property as text.
func (p *Property) lines() []string {
	switch {
	case p.In == Structured:
		return nil
	case p.Text != nil:
		return p.Text
	}
	if list, ok := p.Value.([]string); ok {
		return []string{p.Key + ": " + strings.Join(list, ", ")}
	}
	return []string{fmt.Sprintf("%s: %v", p.Key, p.Value)}
}

// document is the outline as one object.
func (o *Outline) document() Object {
	out := Object{{Key: "Plan", Value: o.Root.properties()}}
	for _, p := range o.Properties {
		if p.In != OnlyText {
			out = append(out, p)
		}
	}
	return out
}
