//go:build !sherd_no_t7_attempt

package rule

// T7Attempt: an abort ends the attempt of which it speaks and those before it, not a later one.
const T7Attempt = true
