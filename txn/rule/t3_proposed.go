//go:build !sherd_no_t3_proposed

package rule

// T3Proposed: a read at T waits for what is proposed at or below T.
const T3Proposed = true
