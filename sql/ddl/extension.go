package ddl

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Extensions that are built in: CREATE EXTENSION, which dumps have, changes nothing, nor does DROP EXTENSION.
var builtinExtensions = map[string]bool{"sherd": true, "sherd_former_ids": true}

func (r *runner) createExtension(n *pg_query.CreateExtensionStmt) error {
	if !builtinExtensions[n.Extname] {
		return unsupported(&pg_query.Node{Node: &pg_query.Node_CreateExtensionStmt{CreateExtensionStmt: n}})
	}
	return nil
}

// dropExtension reports whether the statement names built-in extensions alone.
func (r *runner) dropExtension(n *pg_query.DropStmt) (done bool, err error) {
	for _, o := range n.Objects {
		if !builtinExtensions[o.GetString_().GetSval()] {
			return false, nil
		}
	}
	notice := pgerr.New(pgerr.SuccessfulCompletion, "the extension is built in, and stays")
	notice.Severity = "NOTICE"
	return true, r.Notice(notice)
}
