//go:build !sherd_no_t8_held

package rule

// T8Held: SERIALIZABLE: nobody writes where a held transaction has read.
const T8Held = true
