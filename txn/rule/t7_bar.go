//go:build !sherd_no_t7_bar

package rule

// T7Bar: a writer that tells the anchor that it has not prepared at C first makes sure that it never will.
const T7Bar = true
