//go:build !sherd_no_first_updater

package rule

// FirstUpdater: REPEATABLE READ: a version above T on a locked row is 40001.
const FirstUpdater = true
