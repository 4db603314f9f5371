package cluster

import "github.com/sherddb/sherd/storage"

// Replicas returns the replicas here, by fragment.
func (h *Host) Replicas() []*storage.Replica { return h.all() }
