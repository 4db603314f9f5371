//go:build !sherd_no_t3_prepared

package rule

// T3Prepared: a read at T waits for what is prepared at or below T on its keys.
const T3Prepared = true
