//go:build sherd_no_move_read

package rule

// MoveRead is off.
const MoveRead = false
