//go:build sherd_no_move_number

package rule

// MoveNumber is off.
const MoveNumber = false
