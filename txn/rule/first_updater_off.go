//go:build sherd_no_first_updater

package rule

// FirstUpdater is off.
const FirstUpdater = false
