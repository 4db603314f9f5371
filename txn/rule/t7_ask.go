//go:build !sherd_no_t7_ask

package rule

// T7Ask: a writer that finds itself undecided asks the anchor, and never decides by time-out.
const T7Ask = true
