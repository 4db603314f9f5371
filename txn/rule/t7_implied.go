//go:build !sherd_no_t7_implied

package rule

// T7Implied: an anchor does not abort what it finds prepared where commit may be implied: it asks every writer.
const T7Implied = true
