//go:build !sherd_no_move_proposed

package rule

// MoveProposed: a fence counts from its proposal on, not from its application.
const MoveProposed = true
