package cluster

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/sysview"
)

// TableStats counts the rows of a storage id, of all for 0, in each fragment of a database.
func (h *Host) TableStats(d *catalog.Database, storageID uint32) ([]sysview.Stat, error) {
	var out []sysview.Stat
	for _, f := range d.Fragments {
		r, err := h.Replica(f.ID)
		if err != nil {
			return nil, err
		}
		for _, s := range r.BucketStats(storageID) {
			out = append(out, sysview.Stat{
				Fragment: f.ID, Table: s.Table, From: s.From, To: s.To, Documents: s.Documents, Bytes: s.Bytes,
			})
		}
	}
	return out, nil
}
