//go:build !sherd_no_move_arrival

package rule

// MoveArrival: a bucket that comes gets a new arrival, so that what an earlier stay has left is not in its way.
const MoveArrival = true
