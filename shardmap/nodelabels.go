package shardmap

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabel bounds a label's name, and its value.
const maxLabel = 128

// ParseLabels reads the labels of a node as they stand on a command line: zone=a,disk=ssd. What a
// rule of labels could not name is refused, and so is what would be lost without a word: a label
// that is given twice. Blank text is no labels.
func ParseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	if text == "" {
		return labels, nil
	}
	for _, part := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not NAME=VALUE: it has no \"=\"", part)
		}
		if err := CheckLabel(name, value); err != nil {
			return nil, err
		}
		if _, twice := labels[name]; twice {
			return nil, fmt.Errorf("the label %q is there twice", name)
		}
		labels[name] = value
	}
	return labels, nil
}

// CheckLabel refuses a label that no rule of labels could name (ParseLabelRule).
func CheckLabel(name, value string) error {
	if err := checkLabelText(name); err != nil {
		return fmt.Errorf("the name of the label %q %w", name+"="+value, err)
	}
	if err := checkLabelText(value); err != nil {
		return fmt.Errorf("the value of the label %q %w", name+"="+value, err)
	}
	return nil
}

func checkLabelText(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("is empty")
	case s != strings.TrimSpace(s):
		return fmt.Errorf("has blanks around it")
	case len(s) > maxLabel:
		return fmt.Errorf("is longer than %d bytes", maxLabel)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("has characters that cannot be printed")
	case strings.ContainsAny(s, "=!|,"):
		return fmt.Errorf("holds one of = ! | and the comma, which rules of labels are written with")
	}
	return nil
}
