package cluster

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
)

// abandonBuilds takes away the indexes that a dead process was building: who asked for them got no answer. It runs before anybody writes, so nobody
// keeps them any more.
func (h *Host) abandonBuilds(ctx context.Context) error {
	for j := range h.cfg.Catalog.View().Jobs() {
		if _, _, _, ok := j.BuiltIndex(); !ok {
			continue
		}
		_, err := h.cfg.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
			if v.Job(j.ID) == nil {
				return nil
			}
			if err := ch.Unbuild(j); err != nil {
				return err
			}
			return ch.Discard(j, time.Now().UnixMicro())
		})
		if err != nil {
			return err
		}
	}
	return nil
}
