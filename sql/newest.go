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

// catchUp has this node know the definitions that were acknowledged before, if it can.
func (db *Server) catchUp(ctx context.Context) {
	_ = db.knowsMore(ctx, 0)
}

// knowsMore is catchUp, and tells whether the definitions are others than those of a version, which was looked at before what was not known was looked
// for: they may have come in between.
func (db *Server) knowsMore(ctx context.Context, than uint64) bool {
	return db.cfg.Others != nil && db.cfg.Catalog.CatchUp(ctx, newestPatience) == nil && db.cfg.Catalog.View().DefinitionVersion() != than
}

// knownNames runs f, which undoes itself where it meets a name that is not known here, and again if the cluster knows more than this node did.
func (db *Server) knownNames(ctx context.Context, f func() error) error {
	before := db.cfg.Catalog.View().DefinitionVersion()
	err := f()
	if err != nil && depends(err) && db.knowsMore(ctx, before) {
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
