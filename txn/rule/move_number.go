//go:build !sherd_no_move_number

package rule

// MoveNumber: an entry of a move older than the last of its ranges is void.
const MoveNumber = true
