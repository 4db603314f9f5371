//go:build !sherd_no_t8_proposed

package rule

// T8Proposed: SERIALIZABLE: validation looks at what is proposed at or below C.
const T8Proposed = true
