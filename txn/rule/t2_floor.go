//go:build !sherd_no_t2_floor

package rule

// T2Floor: a commit is above every timestamp its transaction read at and its session has seen.
const T2Floor = true
