//go:build !sherd_no_move_above

package rule

// MoveAbove: the target never writes below what the source has promised.
const MoveAbove = true
