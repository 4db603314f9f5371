//go:build !sherd_no_move_stage

package rule

// MoveStage: what a transaction has staged, locked or read is committed only where its buckets are still owned and not fenced.
const MoveStage = true
