//go:build !sherd_no_move_seen

package rule

// MoveSeen: the target owns before its log says so only where what was left was carried through this replica.
const MoveSeen = true
