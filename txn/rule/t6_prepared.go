//go:build !sherd_no_t6_prepared

package rule

// T6Prepared: a statement's timestamp counts the C of prepared transactions.
const T6Prepared = true
