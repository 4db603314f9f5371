package sql

import (
	"context"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// A node hears of definitions a moment after the node that made them has answered its client. Whoever connects there next, as one of a pool does, may ask
// for what is not known here yet. So nobody is told that something does not exist, or is not allowed, before the catalog's leader was asked. What is found
// is used as it is: the fragments refuse what was planned by definitions that are too old.

// newestPatience bounds what that may cost where the leader is out of reach.
const newestPatience = time.Second

// catchUp has this node know the definitions that were acknowledged before, if it can, and tells whether they are others than before.
func (db *Server) catchUp(ctx context.Context) bool {
	if db.cfg.Others == nil {
		return false
	}
	before := db.cfg.Catalog.View().DefinitionVersion()
	return db.cfg.Catalog.CatchUp(ctx, newestPatience) == nil && db.cfg.Catalog.View().DefinitionVersion() != before
}

// knownNames runs f, which undoes itself where it meets a name that is not known here, and again if the cluster knows more than this node did.
func (db *Server) knownNames(ctx context.Context, f func() error) error {
	err := f()
	if err != nil && depends(err) && db.catchUp(ctx) {
		err = f()
	}
	return err
}

// depends tells whether newer definitions may make a difference to an error.
func depends(err error) bool {
	switch pgerr.Code(err) {
	case pgerr.UndefinedTable, pgerr.UndefinedColumn, pgerr.UndefinedObject, pgerr.InvalidSchemaName, pgerr.InvalidCatalogName,
		pgerr.InvalidAuthorization, pgerr.InsufficientPrivilege:
		return true
	}
	return false
}
