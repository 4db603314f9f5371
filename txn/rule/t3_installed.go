//go:build !sherd_no_t3_installed

package rule

// T3Installed: a read or lock waits for the rows of a large commit that are on their way to its keys.
const T3Installed = true
