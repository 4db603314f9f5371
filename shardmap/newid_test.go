package shardmap

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func TestCompleteID(t *testing.T) {
	for id, want := range map[string]string{
		"":                      "orders/17-A",
		"orders/":               "orders/17-A",
		"eu/orders/":            "eu/orders/17-A",
		"orders/$":              "orders/17-A$",
		"orders/1-A":            "orders/1-A",
		"orders/1-A$":           "orders/1-A$",
		"orders/$customers/1-A": "orders/$customers/1-A",
		"$":                     "$",
	} {
		if got, completed := CompleteID("orders", id, 17, "A"); got != want || completed != (got != id) {
			t.Errorf("%q: %q %v, want %q", id, got, completed, want)
		}
	}
}

func TestAnchorNewID(t *testing.T) {
	tests := []struct {
		id    string
		value Value
		want  string
		code  string
	}{
		{"invoices/1-A", Text("orders/1-A"), "invoices/1-A$orders/1-A", ""},
		{"invoices/1-A", Text("orders/1-A$@982173"), "invoices/1-A$orders/1-A$@982173", ""},
		{"invoices/1-A", Number("7"), "invoices/1-A$7", ""},
		{"invoices/1-A$customers/1-A", Text("orders/1-A"), "invoices/1-A$customers/1-A", ""},
		{"invoices/1-A$", Missing(), "invoices/1-A$", ""},
		{"invoices/1-A", Missing(), "", pgerr.InvalidParameterValue},
		{"invoices/1-A", Text(""), "", pgerr.InvalidParameterValue},
		{"invoices/1-A", Array(), "", pgerr.InvalidParameterValue},
		{"invoices/1-A", Text("orders/1-A$"), "", pgerr.InvalidParameterValue},
		{"invoices/1-A", Text("@9999999"), "", pgerr.InvalidParameterValue},
		{"invoices\x00", Text("x"), "", pgerr.CharacterNotInRepertoire},
	}
	for _, tt := range tests {
		got, err := AnchorNewID(nil, tt.id, "OrderId", tt.value)
		if pgerr.Code(err) != tt.code || (err == nil && got != tt.want) {
			t.Errorf("%q by %+v: %q, %v; want %q %s", tt.id, tt.value, got, err, tt.want, tt.code)
		}
	}
}
