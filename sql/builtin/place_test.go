package builtin

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/pgcatalog"
)

// TestEveryPlace checks that each implementation has a place, and each place an implementation.
func TestEveryPlace(t *testing.T) {
	for key := range index {
		if placeIndex[key] == 0 {
			t.Errorf("%s has no place", key)
		}
	}
	for key := range placeIndex {
		if index[key] == nil {
			t.Errorf("%s has a place and does not exist", key)
		}
	}
	seen := map[string]bool{}
	for _, names := range ownPlaces {
		for _, name := range names {
			if seen[name] {
				t.Errorf("%s has two places", name)
			}
			seen[name] = true
		}
	}
}

// TestAskersAreKnown compares the files whose functions use the session with a list, so that the
// author of a new one chooses its place.
func TestAskersAreKnown(t *testing.T) {
	askers := regexp.MustCompile(`\.session\(\)|\.Session\b|onSession\(|sessionText\(`)
	known := []string{
		"sys_acl.go", "sys_catalog.go", "sys_lock.go", "sys_privilege.go",
		"sys_session.go", "sys_sherd.go", "sys_size.go", "sys_transaction.go", "populate.go",
		"gateway.go",    // functions that are only at the gateway
		"ctx_text.go",   // the name of a type, which the gateway and the fragments know
		"json_value.go", // the fields of a table's type, likewise
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if file != "doc.go" && !strings.HasSuffix(file, "_test.go") && askers.Match(text) &&
			!slices.Contains(known, file) {
			t.Errorf("%s asks the session: give its functions a place of their own", file)
		}
	}
}

func TestPlaceOf(t *testing.T) {
	for name, want := range map[string]Place{
		"md5":                   Anywhere,
		"now":                   Anywhere,
		"current_setting":       AnywhereNamed,
		"currval":               AtGatewayOnce,
		"nextval":               AtGateway,
		"pg_advisory_xact_lock": AtGateway,
		"count":                 Anywhere,
		"jsonb_array_elements":  Anywhere,
		"to_regclass":           AtGateway,
		"txid_current":          AtGatewayOnce,
		"random":                AtGateway,
	} {
		for _, p := range pgcatalog.ProcsByName(name) {
			if got := PlaceOf(p); got != want {
				t.Errorf("%s: place %d, want %d", name, got, want)
			}
		}
	}
}
