package admin

import (
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/system"
	"github.com/sherddb/sherd/sql/types"
)

// Gateway returns what runs the functions of schema sherd for a worker of the system: only forwarded,
// which the programs of statements call by themselves. The other ones need a session.
func (c *Cluster) Gateway(w *system.Worker) builtin.Gateway {
	return workerGateway{cluster: c, worker: w}
}

type workerGateway struct {
	builtin.Sessionless
	cluster *Cluster
	worker  *system.Worker
}

// Run implements builtin.Gateway.
func (g workerGateway) Run(c *builtin.Ctx, p *pgcatalog.Proc, args []types.Datum) (types.Datum, error) {
	if p.OID != forwardedOID {
		return g.Sessionless.Run(c, p, args)
	}
	return forwarded(&Environment{
		Cluster: g.cluster, Names: g.worker.Names(), Application: system.Application, Query: g.worker.Statement(),
	}, args)
}
