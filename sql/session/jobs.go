package session

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/settings"
)

// SystemClient opens a session of the system for a job.
func (n *Node) SystemClient(database catalog.OID, byID bool) schemachange.Client {
	s := newSession(n, StartupParams{User: "postgres"}, catalog.BootstrapRole, database)
	_ = s.vars.Start(settings.Startup{ // it cannot fail: the parameter exists
		Role: "postgres", Superuser: true, Packet: map[string]string{"application_name": "sherd"},
	})
	s.named()
	s.rests()
	s.compiler.ByID = byID
	return schemachange.Client{
		Simple: s.Simple,
		Close:  s.Close,
		Define: func(ctx context.Context, change func(*ddl.Env) error) error {
			s.block.Begin()
			if err := change(s.definer(func(*pgerr.Error) error { return nil })); err != nil {
				s.block.Fail()
				return err
			}
			return s.block.Commit(ctx)
		},
		Barrier: func(ctx context.Context, table catalog.OID) error {
			s.block.Begin()
			defer s.block.Fail()
			return s.block.Tx.Barrier(ctx, table)
		},
	}
}
