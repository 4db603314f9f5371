//go:build sherd_no_move_arrival

package rule

// MoveArrival is off.
const MoveArrival = false
