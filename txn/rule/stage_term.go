//go:build !sherd_no_stage_term

package rule

// StageTerm: a stage dies with the term of the leader that holds it.
const StageTerm = true
