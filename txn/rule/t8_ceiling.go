//go:build !sherd_no_t8_ceiling

package rule

// T8Ceiling: SERIALIZABLE: a check at C extends the ceiling to C and lifts promised to it.
const T8Ceiling = true
