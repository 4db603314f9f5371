package sql

import (
	"context"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// A node learns of new definitions a moment after the node that made them has answered its client.
// A client that then connects to another node, as a connection pool does, may use a name that is
// not known there yet. So a session asks the catalog's leader before it reports that something does
// not exist or is not allowed. It uses what it finds without asking: the fragments refuse a plan
// made from definitions that are too old.

// newestPatience bounds how long that may take if the leader is out of reach.
const newestPatience = time.Second

// catchUp brings this node's catalog up to all definitions acknowledged before the call, if it can.
func (db *Server) catchUp(ctx context.Context) {
	_ = db.knowsMore(ctx, 0)
}

// knowsMore is catchUp, and reports whether the definitions now differ from version than. The
// caller reads that version before it looks for a name, because definitions may arrive in between.
func (db *Server) knowsMore(ctx context.Context, than uint64) bool {
	return db.cfg.Others != nil && db.cfg.Catalog.CatchUp(ctx, newestPatience) == nil &&
		db.cfg.Catalog.View().DefinitionVersion() != than
}

// knownNames runs f. If f fails because it does not find a name, and the cluster knows newer
// definitions, it runs f once more; f undoes its own work when it fails.
func (db *Server) knownNames(ctx context.Context, f func() error) error {
	before := db.cfg.Catalog.View().DefinitionVersion()
	err := f()
	if err != nil && depends(err) && db.knowsMore(ctx, before) {
		err = f()
	}
	return err
}

// depends reports whether newer definitions may change the result of an error's statement.
func depends(err error) bool {
	switch pgerr.Code(err) {
	case pgerr.UndefinedTable, pgerr.UndefinedColumn, pgerr.UndefinedObject, pgerr.InvalidSchemaName,
		pgerr.InvalidCatalogName, pgerr.InvalidAuthorization, pgerr.InsufficientPrivilege:
		return true
	}
	return false
}
