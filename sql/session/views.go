package session

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/counters"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/txn"
)

// views are the sources of the rows of system views, as a session sees them.
type views struct{ *Session }

// rows emits the rows of a view of pg_catalog, information_schema or sherd.
func (s views) rows(name string, emit exec.Emit) error {
	if strings.HasPrefix(name, analyze.SequencePrefix) {
		return s.sequences.Row(s.running, s.sequenceTx(), name, emit)
	}
	return sysview.Rows(name, s.environment(), emit)
}

func (s views) environment() *sysview.Env {
	ofCluster := s.ofCluster()
	// A statement waits once for fragments that do not answer, however many tables it counts.
	missing := map[uint32]bool{}
	return &sysview.Env{
		Names: *s.names(), Role: privilege.Of(s.block.View(), s.database, s.role), Types: s.Env(),
		Started:  s.node.Started,
		NodeName: s.node.Name,
		SequenceValue: func(t *catalog.Table) (int64, bool, error) {
			st, err := s.sequences.State(s.running, s.sequenceTx(), t)
			return st.Value, st.Called, err
		},
		Hot:     s.hot(),
		Setting: s.vars.Source, Sessions: ofCluster.Sessions, Locks: ofCluster.Locks,
		Contents: sysview.Contents{
			Stats: func(d *catalog.Database, storageID uint32) ([]sysview.Stat, map[uint32]bool, error) {
				if size, ok := s.txEnv.Temporary.Size(storageID); ok {
					return []sysview.Stat{{Table: storageID, Documents: size.Rows, Bytes: size.Bytes}}, nil, nil
				}
				stats, err := s.node.Fragments.CountRows(orBackground(s.running), d, storageID, missing)
				return stats, missing, err
			},
			Totals: func() ([]tablestats.Total, error) {
				if len(missing) > 0 {
					return nil, errNotAll
				}
				ctx, cancel := context.WithTimeout(orBackground(s.running), viewTimeout)
				defer cancel()
				return s.node.Fragments.Totals(ctx, s.block.View().Database(s.database), 0)
			},
			Analyzed: func(t *catalog.Table) *statistics.Table { return tablestats.Stored(s.block.View(), t) },
		},
		Warn:     s.warnf,
		Replicas: func() []sysview.Replica { return s.reports(monitor.WantReplicas).Replicas }, Heat: ofCluster.Heat,
		Health: s.node.health, Authorities: s.authorities,
		CatalogRoles: func() (uint32, []uint32) { return s.node.Catalog.Leader(), s.node.Catalog.Voters() },
		Forwarded:    func() []sysview.Forwarded { return s.reports(monitor.WantForwarded).Forwarded },
		Transactions: ofCluster.Transactions,
		Counters:     func() []sysview.Counters { return s.reports(monitor.WantCounters).Counters },
		Prepared:     s.portals.Statements.List, Cursors: s.portals.List, PreparedTransactions: s.prepared,
	}
}

// totals returns what the fragments of a database have of a storage id.
func totals(
	ctx context.Context, s *Session, d *catalog.Database, storageID uint32,
) ([]tablestats.Total, error) {
	if size, ok := s.txEnv.Temporary.Size(storageID); ok {
		of := tablestats.Size{Rows: size.Rows, Bytes: size.Bytes}
		return []tablestats.Total{{Fragment: shardmap.Session, Storage: storageID, Size: of}}, nil
	}
	return s.node.Fragments.Totals(ctx, d, storageID)
}

// errNotAll is the error of totals that would lack fragments.
var errNotAll = errors.New("not all fragments answer")

// authorities lists the authorities of the nodes' certificates.
func (s views) authorities() ([]sysview.Authority, error) {
	if s.node.Authorities == nil {
		return nil, nil
	}
	return s.node.Authorities(s.running)
}

// hot returns what the views about hot and obese buckets need.
func (s views) hot() sysview.Hot {
	v := counters.Views{
		Context: orBackground(s.running), Executor: s.executor,
		Samples: func(table catalog.OID) []stmt.Sample { return s.node.Samples.Of(s.database, table) },
	}
	if s.block.Tx != nil {
		v.Tx = s.block.Tx.Tx
	}
	return v.Hot()
}

// prepared returns the rows of pg_prepared_xacts.
func (s views) prepared() ([]sysview.PreparedTransaction, error) {
	list, err := s.node.Prepared.All(orBackground(s.running), s.block.View())
	if err != nil {
		return nil, err
	}
	var out []sysview.PreparedTransaction
	for _, h := range list {
		out = append(out, sysview.PreparedTransaction{
			XID: h.ID.XID(), GID: h.GID, At: h.At, Role: catalog.OID(h.Owner), Database: catalog.OID(h.Database),
		})
	}
	return out, nil
}

// reports returns the reports of the whole cluster as one.
func (s *Session) reports(wanted monitor.Wanted) monitor.Report {
	return s.node.Cluster.Report(s.running, wanted, s.warnf)
}

// viewTimeout is how long a view waits for a fragment.
const viewTimeout = 5 * time.Second

// ofCluster returns the builder of the rows of views over the whole cluster.
func (s views) ofCluster() *monitor.Views {
	return &monitor.Views{
		Report: s.reports, Catalog: s.block.View(), Values: s.Env(), Database: s.database, Warn: s.warnf,
		Prepared: func() ([]txn.PreparedTransaction, []txn.FragmentID, error) {
			return s.node.Fragments.PreparedSoon(orBackground(s.running), s.database, viewTimeout)
		},
	}
}
