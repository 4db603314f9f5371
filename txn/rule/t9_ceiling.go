//go:build !sherd_no_t9_ceiling

package rule

// T9Ceiling: it closes none above the effective ceiling, so that the next leader stamps nothing at or below it either.
const T9Ceiling = true
