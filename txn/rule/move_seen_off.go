//go:build sherd_no_move_seen

package rule

// MoveSeen is off.
const MoveSeen = false
