package builtin

import "github.com/sherddb/sherd/sql/types"

// IDInfo is about former ids of documents, from before sherd.replace_placement replaced them.
type IDInfo interface {
	// Forwarded records that a former id was used to name a document.
	Forwarded(table uint32, old, now string)
	// ReplacePlacement, StartValidation and RewriteReferences start jobs and return their numbers.
	ReplacePlacement(table uint32, spread bool) (int64, error)
	StartValidation(table uint32) (int64, error)
	RewriteReferences(table, referrer uint32, path string) (int64, error)
	// References lists the foreign keys that refer to a table.
	References(table uint32, emit func(referrer uint32, path, constraint string, byFormerID int64) error) error
	DropForwarding(table uint32) error
	// ControlJob pauses, resumes or cancels a job.
	ControlJob(job int64, verb string) error
}

// sysIDs has the functions about ids.
var sysIDs = map[string]Func{
	"sherd_forwarded": func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err == nil {
			s.Forwarded(a[0].Oid(), a[1].S, a[2].S)
		}
		return a[2], err
	},
	"sherd_replace_placement": onIDs(func(s IDInfo, a []types.Datum) (types.Datum, error) {
		n, err := s.ReplacePlacement(a[0].Oid(), a[1].Bool())
		return types.NewInt(n), err
	}),
	"sherd_start_validation": onIDs(func(s IDInfo, a []types.Datum) (types.Datum, error) {
		n, err := s.StartValidation(a[0].Oid())
		return types.NewInt(n), err
	}),
	"sherd_rewrite_references": onIDs(func(s IDInfo, a []types.Datum) (types.Datum, error) {
		n, err := s.RewriteReferences(a[0].Oid(), a[1].Oid(), a[2].S)
		return types.NewInt(n), err
	}),
	"sherd_drop_forwarding": onIDs(func(s IDInfo, a []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, s.DropForwarding(a[0].Oid())
	}),
	"sherd_pause_job":  controlJob("pause"),
	"sherd_resume_job": controlJob("resume"),
	"sherd_cancel_job": controlJob("cancel"),
}

var sysIDSets = map[string]SetFunc{
	"sherd_references": func(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
		s, err := c.session()
		if err != nil {
			return err
		}
		return s.References(a[0].Oid(), func(referrer uint32, path, constraint string, n int64) error {
			return emit([]types.Datum{types.NewOid(referrer), types.NewText(path), types.NewText(constraint),
				types.NewInt(n)})
		})
	},
}

func onIDs(do func(IDInfo, []types.Datum) (types.Datum, error)) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return do(s, a)
	}
}

func controlJob(verb string) Func {
	return onIDs(func(s IDInfo, a []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, s.ControlJob(a[0].N, verb)
	})
}
