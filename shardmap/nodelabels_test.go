package shardmap

import (
	"maps"
	"strings"
	"testing"
)

func TestParseLabels(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                         {},
		"zone=a":                   {"zone": "a"},
		"zone=eu west,disk=ssd":    {"zone": "eu west", "disk": "ssd"},
		"région=île,rack=3.1-a_/x": {"région": "île", "rack": "3.1-a_/x"},
	} {
		got, err := ParseLabels(text)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		for name, value := range got { // what is accepted can be asked for
			r, err := ParseLabelRule(name + "=" + value)
			if err != nil || !r.Allows(got) {
				t.Errorf("%q: the rule %q: %v", text, r, err)
			}
		}
	}
	for text, says := range map[string]string{
		"zone":                             `"zone" is not NAME=VALUE`,
		"=a":                               `the name of the label "=a" is empty`,
		"zone=":                            `the value of the label "zone=" is empty`,
		" zone=a":                          `the name of the label " zone=a" has blanks around it`,
		"zone= a":                          `the value of the label "zone= a" has blanks around it`,
		"zone=a, disk=ssd":                 `the name of the label " disk=ssd" has blanks around it`,
		"zone=a,zone=b":                    `the label "zone" is there twice`,
		"zone=a,":                          `"" is not NAME=VALUE`,
		",":                                `"" is not NAME=VALUE`,
		"zone=a=b":                         `the value of the label "zone=a=b" holds one of`,
		"zone!=a":                          `the name of the label "zone!=a" holds one of`,
		"zone=a|b":                         `the value of the label "zone=a|b" holds one of`,
		"zone=\x00":                        "cannot be printed",
		"zone=\xff":                        "cannot be printed",
		"zone=" + strings.Repeat("a", 129): "is longer than 128 bytes",
	} {
		if got, err := ParseLabels(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
