//go:build sherd_no_move_fence

package rule

// MoveFence is off.
const MoveFence = false
