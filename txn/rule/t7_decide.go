//go:build !sherd_no_t7_decide

package rule

// T7Decide: a decision to commit applies only where the anchor's prepared record is.
const T7Decide = true
