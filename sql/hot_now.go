package sql

import (
	"context"
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// splitNow gives the numbers of the documents of a table that are split as the session's transaction sees it: of those that the definition has as split, those
// that have parts. One that was deleted has none, and one that was made again under its id is whole.
func (s *Session) splitNow(ctx context.Context, view *catalog.View, t *catalog.Table) (map[int32]bool, error) {
	var first []types.Datum // parts are all there, or none is
	for i := range t.Hot.Documents {
		if d := &t.Hot.Documents[i]; d.Joined == 0 {
			first = append(first, types.NewInt(d.Parts[0]))
		}
	}
	parts := view.Table(t.Hot.Parts)
	if len(first) == 0 || parts == nil {
		return nil, nil
	}
	split := map[int32]bool{}
	text := fmt.Sprintf("SELECT d FROM %s WHERE k = ANY($1)", quotedName(view, parts))
	st := stmt.Hidden{Text: text, Params: []types.OID{types.Int8Array}, Args: []types.Datum{int8Array(first)}}
	x := s.executor(ctx)
	_, err := x.Against(view).Hidden(ctx, s.tx.Tx, st, func(row []types.Datum) error {
		split[int32(row[0].N)] = true
		return nil
	})
	return split, err
}
