package main

import (
	"regexp"
	"slices"
	"strings"
)

// verdict is how a statement ended on Sherd, compared with PostgreSQL.
type verdict uint8

const (
	passed verdict = iota
	refused
	missing
	failed
	accepted
	differs
	lost
	verdicts
)

func (v verdict) String() string {
	return [...]string{"passed", "refused", "missing", "error", "accepted", "answer", "lost"}[v]
}

// objectsMissing are the SQLSTATEs of errors about objects that are not there.
var objectsMissing = []string{"42P01", "42704", "42883", "42703", "3F000", "26000", "34000", "3B001"}

// compare compares the results of a statement. why says what differs.
func compare(want, got []result, ordered bool) (v verdict, why string) {
	for i, w := range want {
		if i == len(got) {
			break
		}
		g := got[i]
		switch {
		case w.code == g.code && w.code != "":
		case g.code == "0A000":
			return refused, "0A000"
		case slices.Contains(objectsMissing, g.code):
			return missing, g.code + " for " + w.outcome()
		case g.code != "":
			return failed, g.code + " for " + w.outcome()
		case w.code != "":
			return accepted, "success for " + w.code
		default:
			if why := w.difference(&g, ordered); why != "" {
				return differs, why
			}
		}
	}
	if len(want) != len(got) {
		return differs, "number of results"
	}
	return passed, ""
}

// outcome returns the SQLSTATE of a result, or success.
func (r *result) outcome() string {
	if r.code == "" {
		return "success"
	}
	return r.code
}

// difference returns what differs between the results of two servers without errors, "" if nothing
// does.
func (r *result) difference(x *result, ordered bool) string {
	switch {
	case !slices.Equal(r.columns, x.columns):
		return "columns"
	case r.tag != x.tag:
		return "tag"
	case !sameLines(r.rowTexts(), x.rowTexts(), ordered):
		return "rows"
	case !sameLines(strings.Split(r.copied, "\n"), strings.Split(x.copied, "\n"), ordered):
		return "data of COPY"
	}
	return ""
}

func sameLines(a, b []string, ordered bool) bool {
	if slices.Equal(a, b) {
		return true
	}
	if ordered || len(a) != len(b) {
		return false
	}
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/|--[^\n]*`)
	literals = regexp.MustCompile(`(?s)'(?:[^']|'')*'`)
	orderBy  = regexp.MustCompile(`(?i)\border\s+by\b`)
	inOrder  = regexp.MustCompile(`(?i)^\s*(fetch|show|move)\b`)
	explains = regexp.MustCompile(`(?i)^\s*explain\b`)
)

// isOrdered reports whether the order of a statement's rows counts: it has an ORDER BY outside all
// parentheses, or reads from a cursor.
func isOrdered(text string) bool {
	text = literals.ReplaceAllString(comments.ReplaceAllString(text, " "), "''")
	if inOrder.MatchString(text) {
		return true
	}
	var outer strings.Builder
	depth := 0
	for _, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0:
			outer.WriteRune(c)
		}
	}
	return orderBy.MatchString(outer.String())
}

func isExplain(text string) bool { return explains.MatchString(comments.ReplaceAllString(text, " ")) }
