package main

import "testing"

func TestCompleteStatement(t *testing.T) {
	for text, want := range map[string]bool{
		"select 1;": true, "select 1; -- x": true, "select ';\n": false, "select 1": false, "": true,
		"select $$a;$$": false,
	} {
		if complete(text) != want {
			t.Errorf("complete(%q) = %v", text, !want)
		}
	}
}
