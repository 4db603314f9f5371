package stmt

import "github.com/sherddb/sherd/sql/plan"

// SwitchedOff returns the methods of the planner that parameters switch off. on reports whether a
// parameter is on.
func SwitchedOff(on func(parameter string) bool) plan.Methods {
	return plan.Methods{
		SeqScan:        !on("enable_seqscan"),
		IndexScan:      !on("enable_indexscan"),
		BitmapScan:     !on("enable_bitmapscan"),
		HashJoin:       !on("enable_hashjoin"),
		NestLoop:       !on("enable_nestloop"),
		Sort:           !on("enable_sort"),
		Incremental:    !on("enable_incremental_sort"),
		GatherMerge:    !on("enable_gathermerge"),
		KeyLookup:      !on("sherd.enable_key_lookup"),
		LookupJoin:     !on("sherd.enable_lookup_join"),
		LocalJoin:      !on("sherd.enable_local_join"),
		Batch:          !on("sherd.enable_batch"),
		RuntimeFilter:  !on("sherd.enable_runtime_filter"),
		LocalAggregate: !on("sherd.enable_local_aggregate"),
	}
}
