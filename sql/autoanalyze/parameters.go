package autoanalyze

import (
	"strconv"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/statistics"
)

// parameters are PostgreSQL's parameters of autovacuum that have an effect.
type parameters struct {
	on        bool
	naptime   time.Duration
	threshold float64 // rows
	scale     float64 // rows for each row of the table
	logAfter  time.Duration
}

// parameters returns the values that are in force.
func (s *Schedule) parameters() parameters {
	number := func(name string) float64 {
		v, err := strconv.ParseFloat(s.text(name), 64)
		if err != nil {
			return 0 // it was checked when it was set
		}
		return v
	}
	return parameters{
		on: s.text("autovacuum") == "on", naptime: time.Duration(number("autovacuum_naptime")) * time.Second,
		threshold: number("autovacuum_analyze_threshold"), scale: number("autovacuum_analyze_scale_factor"),
		logAfter: time.Duration(number("log_autovacuum_min_duration")) * time.Millisecond,
	}
}

func (s *Schedule) text(name string) string {
	if v, ok := s.Setting(name); ok {
		return v
	}
	d, _ := settings.Lookup(name)
	return d.Default
}

// logs reports whether an analysis that took so long is logged.
func (p *parameters) logs(took time.Duration) bool { return p.logAfter >= 0 && took >= p.logAfter }

// due reports whether a table is to be analyzed after so many of its rows have changed since known; nil:
// it was never analyzed.
func (p *parameters) due(t *catalog.Table, known *statistics.Table, changed int64) bool {
	if on, ok := settings.ParseBool(t.Options["autovacuum_enabled"]); ok && !on {
		return false
	}
	limit := option(t, "autovacuum_analyze_threshold", p.threshold)
	if known != nil {
		limit += option(t, "autovacuum_analyze_scale_factor", p.scale) * known.AnalyzedRows
	}
	return float64(changed) > limit
}

// option returns a storage parameter of a table, or the parameter in its place.
func option(t *catalog.Table, name string, otherwise float64) float64 {
	if v, err := strconv.ParseFloat(t.Options[name], 64); err == nil {
		return v
	}
	return otherwise
}
