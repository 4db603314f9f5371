//go:build sherd_no_t4

package rule

// T4Ceiling is off.
const T4Ceiling = false
