//go:build sherd_no_move_stage

package rule

// MoveStage is off.
const MoveStage = false
