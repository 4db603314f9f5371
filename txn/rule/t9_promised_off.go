//go:build sherd_no_t9_promised

package rule

// T9Promised is off.
const T9Promised = false
