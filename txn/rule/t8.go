//go:build !sherd_no_t8

package rule

// T8Validate: SERIALIZABLE: what was read is validated at C.
const T8Validate = true
