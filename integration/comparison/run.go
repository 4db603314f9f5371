package comparison

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/postgres"
)

// Options are what the programs that compare have in common.
type Options struct {
	Scale   float64 // of the numbers of rows
	Only    string  // a regular expression for themes and names of cases
	Binary  string  // Sherd's, built from this tree if empty
	Timeout time.Duration
	Spend   time.Duration // on the runs of a case
	Explain float64       // print Sherd's plans of the cases with a larger ratio; 0 is none
	HTTP    string        // address of Sherd's profiles
	Out     io.Writer

	Fragments int // of Sherd's database
}

// Flags defines the options as flags of a program.
func Flags(scale float64, timeout time.Duration) *Options {
	o := &Options{Out: os.Stdout}
	flag.Float64Var(&o.Scale, "scale", scale, "factor of the numbers of rows")
	flag.StringVar(&o.Only, "only", "", "regular expression for the themes and names of cases to run")
	flag.StringVar(&o.Binary, "binary", "", "Sherd's program; built from this tree if not given")
	flag.DurationVar(&o.Timeout, "timeout", timeout, "after which a statement is a miss")
	flag.DurationVar(&o.Spend, "spend", 2*time.Second, "time for the runs of a case, which are 3 to 25 on each server")
	flag.Float64Var(&o.Explain, "explain", 0, "print Sherd's plans of the cases with a larger ratio")
	flag.IntVar(&o.Fragments, "fragments", 3, "fragments of Sherd's database")
	flag.StringVar(&o.HTTP, "http-addr", "", "address for the profiles of Sherd")
	return o
}

// Compare starts both servers, loads the data and compares the cases. The title, if not empty, is
// printed first.
func Compare(ctx context.Context, o *Options, title string, data *Data, cases []Case) error {
	p, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer p.close()
	if title != "" {
		fmt.Fprintf(o.Out, "%s: ", title)
	}
	return p.run(ctx, o, data, cases)
}

// pair is a server of PostgreSQL and a node of Sherd.
type pair struct {
	postgres *postgres.Server
	process  *integration.Process
	dir      string
}

// start starts both servers, in temporary directories.
func start(ctx context.Context, o *Options) (p *pair, err error) {
	p = &pair{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.dir, err = os.MkdirTemp("", "sherd-comparison-"); err != nil {
		return p, err
	}
	if err := os.Chmod(p.dir, 0o755); err != nil { // PostgreSQL runs as another user
		return p, err
	}
	binary := o.Binary
	if binary == "" {
		if binary, err = integration.Build(p.dir); err != nil {
			return p, err
		}
	}
	if p.postgres, err = postgres.Create(ctx, filepath.Join(p.dir, "postgres")); err != nil {
		return p, err
	}
	flags := []string{"--fragments", strconv.Itoa(o.Fragments)}
	if o.HTTP != "" {
		flags = append(flags, "--http-addr", o.HTTP)
	}
	p.process, err = integration.Start(binary, filepath.Join(p.dir, "data"), flags...)
	return p, err
}

// close stops the servers and removes their data.
func (p *pair) close() {
	if p.process != nil {
		p.process.Kill()
	}
	if p.postgres != nil {
		p.postgres.Stop()
	}
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
}

// run loads the data into database postgres of both servers and compares the cases. It returns an
// error if rows differ.
func (p *pair) run(ctx context.Context, o *Options, data *Data, cases []Case) error {
	chosen, err := choose(cases, o.Only)
	if err != nil {
		return err
	}
	pg := &subject{name: "PostgreSQL", url: p.postgres.URL(), timeout: o.Timeout}
	sherd := &subject{name: "Sherd", url: p.process.URL, sherd: true, timeout: o.Timeout}
	fmt.Fprintf(o.Out, "%s/%s, %d processors, scale %g, %d cases\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		o.Scale, len(chosen))
	for _, s := range []*subject{pg, sherd} {
		if err := s.load(ctx, data, o.Out); err != nil {
			return err
		}
	}
	r := &report{out: o.Out}
	r.head()
	for i := range chosen {
		outcome, err := measure(ctx, pg, sherd, &chosen[i], o.Spend)
		if err != nil {
			r.summary() // of those before
			return fmt.Errorf("%s: %w", chosen[i].Name, err)
		}
		r.add(outcome)
		if o.Explain > 0 && (outcome.problem != "" || outcome.ratio() > o.Explain) {
			if lines, err := sherd.explain(ctx, &chosen[i]); err == nil {
				r.indent(lines)
			}
		}
	}
	r.summary()
	fmt.Fprintln(o.Out)
	if wrong := r.wrong(); len(wrong) > 0 {
		return fmt.Errorf("other rows than PostgreSQL: %s", strings.Join(wrong, ", "))
	}
	return nil
}

func choose(cases []Case, only string) ([]Case, error) {
	re, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	var out []Case
	for _, c := range cases {
		if re.MatchString(c.Theme) || re.MatchString(c.Name) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no case matches %q", only)
	}
	return out, nil
}

// load loads the data without a limit on the time of a statement.
func (s *subject) load(ctx context.Context, data *Data, out io.Writer) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	if err := s.exec(ctx, "SET statement_timeout = 0"); err != nil {
		return err
	}
	began := time.Now()
	skipped, err := data.Load(ctx, s.conn, s.sherd)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	fmt.Fprintf(out, "%s: loaded in %.1f s\n", s.name, time.Since(began).Seconds())
	for _, text := range skipped {
		fmt.Fprintf(out, "%s: not supported: %s\n", s.name, text)
	}
	if err := s.conn.Close(ctx); err != nil {
		return err
	}
	return s.connect(ctx)
}

// explain returns the plan of a case.
func (s *subject) explain(ctx context.Context, c *Case) ([]string, error) {
	return Explain(ctx, s.conn, c)
}

// Explain returns the lines of EXPLAIN of a case, without costs.
func Explain(ctx context.Context, conn *pgconn.PgConn, c *Case) (lines []string, err error) {
	if err := Prepare(ctx, conn, "", "EXPLAIN (COSTS OFF) "+c.Text, c.Params); err != nil {
		return nil, err
	}
	a, err := Execute(ctx, conn, "", c.Params)
	if err != nil {
		return nil, err
	}
	for _, row := range a.Rows {
		lines = append(lines, string(row[0]))
	}
	return lines, nil
}
