package cluster

import "github.com/sherddb/sherd/storage"

// stageOf gives the stage of a part in a fragment that is led here.
func stageOf(p part) *storage.Tx { return p.(*localPart).Tx }
