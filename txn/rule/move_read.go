//go:build !sherd_no_move_read

package rule

// MoveRead: the last read of a move counts only where its fence is in the log, with the F up to which was read.
const MoveRead = true
