//go:build !sherd_no_t8_prepared

package rule

// T8Prepared: SERIALIZABLE: validation looks at what is prepared at or below C.
const T8Prepared = true
