package autoanalyze

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/tablestats"
)

// Schedule says when which table is analyzed.
type Schedule struct {
	View  func() *catalog.View
	Leads func() bool // this node leads the catalog
	// Setting returns a parameter that ALTER SYSTEM has set.
	Setting func(name string) (value string, set bool)
	// Totals returns what the fragments of a database have of all tables.
	Totals func(ctx context.Context, d *catalog.Database) ([]tablestats.Total, error)
	// Analyze analyzes a table, and returns ErrSkipped if it has given way to another transaction.
	Analyze func(ctx context.Context, t *catalog.Table) error
	Logger  *slog.Logger
}

const (
	lookEvery    = time.Second      // for a changed naptime
	totalTimeout = 10 * time.Second // of the fragments of a database
)

// Run analyzes tables until ctx ends.
func (s *Schedule) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if nap := s.parameters().naptime; time.Since(last) >= nap {
			last = time.Now()
			s.wake(ctx)
		}
	}
}

// wake analyzes the tables that need it now.
func (s *Schedule) wake(ctx context.Context) {
	for d := range s.View().Databases() {
		if !s.active(ctx) {
			return
		}
		s.database(ctx, d)
	}
}

// active reports whether this node is to analyze tables.
func (s *Schedule) active(ctx context.Context) bool {
	return ctx.Err() == nil && s.Leads() && s.parameters().on && s.View().Knows(catalog.StatisticsSince)
}

// database analyzes the tables of a database that need it.
func (s *Schedule) database(ctx context.Context, d *catalog.Database) {
	asking, cancel := context.WithTimeout(ctx, totalTimeout)
	totals, err := s.Totals(asking, d)
	cancel()
	if err != nil {
		if ctx.Err() == nil {
			s.Logger.Info("the tables of a database are analyzed later", "database", d.Name, "error", err)
		}
		return
	}
	of := map[uint32][]tablestats.Total{}
	for _, x := range totals {
		of[x.Storage] = append(of[x.Storage], x)
	}
	for t := range s.View().Tables(d.OID) {
		if !s.active(ctx) {
			return
		}
		if (t.Kind == catalog.KindTable || t.IsMaterialized()) && t.ForwardingOf == 0 {
			s.table(ctx, d, t, of[t.StorageID])
		}
	}
}

// table analyzes a table if it needs that.
func (s *Schedule) table(ctx context.Context, d *catalog.Database, t *catalog.Table, totals []tablestats.Total) {
	known := tablestats.LastAnalysis(s.View(), t)
	p := s.parameters()
	if !p.due(t, known, tablestats.Changed(known, totals)) {
		return
	}
	began := time.Now()
	err := s.Analyze(ctx, t)
	took := time.Since(began)
	log := s.Logger.With("database", d.Name, "table", t.Name)
	switch {
	case err == nil && p.logs(took):
		log.Info("automatic analyze", "took", took)
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, ErrSkipped):
		log.Info("automatic analyze is skipped", "why", err)
	default:
		log.Warn("automatic analyze has failed, and is tried again", "error", err)
	}
}
