//go:build !sherd_no_move_fence

package rule

// MoveFence: what is read above F at a fenced source waits, and nothing is committed there.
const MoveFence = true
