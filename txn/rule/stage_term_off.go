//go:build sherd_no_stage_term

package rule

// StageTerm is off.
const StageTerm = false
