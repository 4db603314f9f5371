//go:build !sherd_no_t9_promised

package rule

// T9Promised: a leader that closes a timestamp stamps nothing at or below it.
const T9Promised = true
