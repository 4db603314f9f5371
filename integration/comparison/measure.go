package comparison

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// outcome is what the comparison of a case found.
type outcome struct {
	*Case
	postgres, sherd time.Duration // medians; 0 if the statement failed
	problem         string        // why there is no ratio
	wrong           string        // how the rows differ
}

// ratio is Sherd's time in PostgreSQL's.
func (o *outcome) ratio() float64 { return o.sherd.Seconds() / o.postgres.Seconds() }

// Runs of a case: a few to warm up, then as many as Options.Spend allows.
const (
	warmRuns  = 6 // PostgreSQL chooses between custom and generic plans after five
	leastRuns = 3
	mostRuns  = 25
	quick     = 20 * time.Millisecond // slower statements are warm after one run
	slow      = 4 * time.Second       // of slower statements the first run counts
)

// measure runs a case on both servers in turn.
func measure(ctx context.Context, postgres, sherd *subject, c *Case, spend time.Duration) (*outcome, error) {
	o := &outcome{Case: c}
	both := []*subject{postgres, sherd}
	answers, first := make([]*Answer, 2), make([]time.Duration, 2)
	for i, s := range both {
		if err := s.connect(ctx); err != nil {
			return nil, err
		}
		took, err := time.Duration(0), s.prepare(ctx, c)
		if err == nil {
			answers[i], took, err = s.run(ctx, c)
		}
		if err == nil {
			first[i] = took
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case isTimeout(err):
			o.problem = join(o.problem, fmt.Sprintf("%s takes more than %v", s.name, s.timeout))
		case err != nil:
			o.problem = join(o.problem, s.name+": "+err.Error())
		}
	}
	o.postgres, o.sherd = first[0], first[1]
	if o.problem != "" {
		return o, nil
	}
	o.wrong = difference(answers[0], answers[1], c.Ordered())
	times := [][]time.Duration{{first[0]}, {first[1]}}
	if max(first[0], first[1]) < slow {
		var err error
		if times, err = repeat(ctx, both, c, runsFor(spend, first)); err != nil {
			o.problem = err.Error()
			return o, nil
		}
	}
	o.postgres, o.sherd = median(times[0]), median(times[1])
	for _, s := range both {
		if err := s.conn.Deallocate(ctx, c.Name); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return o, nil
}

// runsFor returns how many runs there is time for after first runs that took so long.
func runsFor(spend time.Duration, first []time.Duration) int {
	return min(mostRuns, max(leastRuns, int(spend/(first[0]+first[1]))))
}

// repeat measures a case after its first run. A server whose answers are quick warms up first.
func repeat(ctx context.Context, both []*subject, c *Case, runs int) ([][]time.Duration, error) {
	times := make([][]time.Duration, len(both))
	for _, s := range both {
		for range warmRuns - 1 {
			_, took, err := s.run(ctx, c)
			if err != nil {
				return times, fmt.Errorf("%s: %w", s.name, err)
			}
			if took > quick {
				break
			}
		}
	}
	for range runs {
		for i, s := range both {
			_, took, err := s.run(ctx, c)
			if err != nil {
				return times, fmt.Errorf("%s: %w", s.name, err)
			}
			times[i] = append(times[i], took)
		}
	}
	return times, nil
}

func median(x []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(x))
	return s[len(s)/2]
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
