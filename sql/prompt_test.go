package sql_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Statements after a prompt of psql with their continuation lines, and the table that such a
// statement makes.
var (
	prompted = regexp.MustCompile(`(?m)^(?: {4})?[a-z]+=# (.*(?:\n(?: {4})?[a-z]+[-('"]# ?.*)*)`)
	goesOn   = regexp.MustCompile(`(?m)^(?: {4})?[a-z]+[-('"]# ?`)
	makes    = regexp.MustCompile(`CREATE TABLE (\w+) `)
)

// TestPrompts: the SQL after a prompt in the pages uses existing tables, columns and functions. The
// test makes the tables; it only analyses the rest, because that depends on the history of the
// pages' clusters.
func TestPrompts(t *testing.T) {
	c := newWorld(t).connect(t)
	const made = "CREATE TABLE orders (id text PRIMARY KEY, doc jsonb); CREATE TABLE customers (id text PRIMARY KEY, " +
		"doc jsonb); CREATE TABLE invoices (id text PRIMARY KEY, order_id text)"
	c.want(made, "CREATE TABLE\nCREATE TABLE\nCREATE TABLE")
	pages, err := filepath.Glob("../docs/*.md")
	must(t, err)
	seen := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		must(t, err)
		for _, m := range prompted.FindAllStringSubmatch(string(text), -1) {
			statement := goesOn.ReplaceAllString(m[1], "")
			seen++
			if table := makes.FindStringSubmatch(statement); table != nil {
				c.answer("DROP TABLE IF EXISTS " + table[1])
				if got := c.answer(statement); strings.Contains(got, "SQLSTATE") {
					t.Errorf("%s: %s\n%s", page, statement, got)
				}
				continue
			}
			err := c.s.Parse(t.Context(), "", statement, nil)
			if err != nil && slices.Contains([]string{"42601", "42883", "42703", "42P01", "42P02", "0A000"},
				string(pgerr.From(err).Code)) {
				t.Errorf("%s: %s\n%v", page, statement, err)
			}
			must(t, c.s.Sync(t.Context()))
		}
	}
	if seen < 80 {
		t.Errorf("the pages show %d statements", seen)
	}
}
