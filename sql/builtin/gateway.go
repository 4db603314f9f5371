package builtin

import (
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// Gateway runs the functions of schema sherd that this package does not have, those that ask or change
// the cluster, and functions of users. Their place is AtGateway. The context is that of the call site.
type Gateway interface {
	Run(c *Ctx, p *pgcatalog.Proc, args []types.Datum) (types.Datum, error)
	RunTable(c *Ctx, p *pgcatalog.Proc, args []types.Datum, emit func(row []types.Datum) error) error
}

// throughGateway returns an implementation that calls the session's Gateway.
func throughGateway(p *pgcatalog.Proc) *Impl {
	if p.RetSet {
		return &Impl{Set: func(c *Ctx, args []types.Datum, emit func(row []types.Datum) error) error {
			s, err := c.session()
			if err != nil {
				return err
			}
			return s.RunTable(c, p, args, emit)
		}}
	}
	return &Impl{Func: func(c *Ctx, args []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return s.Run(c, p, args)
	}}
}
