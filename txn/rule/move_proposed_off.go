//go:build sherd_no_move_proposed

package rule

// MoveProposed is off.
const MoveProposed = false
