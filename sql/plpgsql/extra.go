package plpgsql

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
)

// The checks of plpgsql.extra_warnings and plpgsql.extra_errors.
const (
	manyRows   = "too_many_rows"
	assignment = "strict_multi_assignment"
)

// listed reports whether a setting lists a check.
func (f *store) listed(setting, check string) bool {
	value, _ := f.setting(setting)
	if value == "" || value == "none" {
		return false
	}
	names := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, check) || slices.Contains(names, "all")
}

// checks reports whether a check is on.
func (f *store) checks(check string) bool {
	return f.listed("plpgsql.extra_errors", check) || f.listed("plpgsql.extra_warnings", check)
}

// extra reports what a check has found, as an error or a warning, if it is on.
func (f *store) extra(check, message, code, hint string) error {
	setting := "plpgsql.extra_errors"
	e := pgerr.New(code, "%s", message).WithHint("%s", hint)
	if !f.listed(setting, check) {
		setting = "plpgsql.extra_warnings"
		if !f.listed(setting, check) {
			return nil
		}
		e.Severity = "WARNING"
	}
	if check != manyRows {
		e = e.WithDetail("%s check of %s is active.", check, strings.TrimPrefix(setting, "plpgsql."))
	}
	if e.Severity != "" {
		return f.call.Notice(e)
	}
	return e
}

// countTargets checks that a row has as many columns as there are targets.
func (f *store) countTargets(n int, columns []query.Column) error {
	if n == len(columns) {
		return nil
	}
	return f.extra(assignment, "number of source and target fields in assignment does not match",
		pgerr.DatatypeMismatch, "Make sure the query returns the exact list of columns.")
}
