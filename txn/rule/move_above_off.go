//go:build sherd_no_move_above

package rule

// MoveAbove is off.
const MoveAbove = false
