package shardmap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// LabelRule says on which nodes replicas may be, by the labels of the nodes: all its conditions
// must hold. The empty one allows every node. It is immutable.
type LabelRule []LabelCondition

// LabelCondition wants a label of a node to have one of some values, or, with Not, none of them. A
// node without the label has no value.
type LabelCondition struct {
	Label  string
	Not    bool
	Values []string // sorted
}

// maxLabelRule bounds the text of a rule.
const maxLabelRule = 1000

// ParseLabelRule reads 'region=eu|us, disk!=hdd': conditions separated by commas, values by bars.
// Blank text is the empty rule. Two conditions that require values of one label and have no value
// in common are refused, because no node could satisfy them.
func ParseLabelRule(text string) (LabelRule, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var r LabelRule
	for _, part := range strings.Split(text, ",") {
		c, ok := parseCondition(part)
		if !ok {
			return nil, noRule(text)
		}
		r = append(r, c)
	}
	if r = r.normal(); len(r.String()) > maxLabelRule { // what is kept is this text
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "a rule of labels is longer than %d bytes", maxLabelRule)
	}
	if label, ok := r.impossible(); ok {
		return nil, pgerr.New(pgerr.InvalidParameterValue, `no node can have the labels "%s"`, text).
			WithDetail("Conditions on label %s exclude each other.", label)
	}
	return r, nil
}

func noRule(text string) error {
	return pgerr.New(pgerr.InvalidParameterValue, `invalid rule of labels: "%s"`, text).
		WithHint("Write conditions as 'region=eu', 'region=eu|us' or 'disk!=hdd', with commas between them.")
}

func parseCondition(text string) (c LabelCondition, ok bool) {
	label, values, ok := strings.Cut(text, "=")
	if label, c.Not = strings.CutSuffix(label, "!"); !ok {
		return c, false
	}
	c.Label = strings.TrimSpace(label)
	for _, v := range strings.Split(values, "|") {
		v = strings.TrimSpace(v)
		if v == "" || strings.ContainsAny(v, "=!") {
			return c, false
		}
		c.Values = append(c.Values, v)
	}
	slices.Sort(c.Values)
	c.Values = slices.Compact(c.Values)
	return c, c.Label != "" && !strings.ContainsAny(c.Label, "!|")
}

// normal sorts the conditions and removes duplicates.
func (r LabelRule) normal() LabelRule {
	slices.SortFunc(r, LabelCondition.compare)
	return slices.CompactFunc(r, func(a, b LabelCondition) bool { return a.compare(b) == 0 })
}

func (c LabelCondition) compare(o LabelCondition) int {
	not := func(c LabelCondition) int {
		if c.Not {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(c.Label, o.Label), cmp.Compare(not(c), not(o)), slices.Compare(c.Values, o.Values))
}

// impossible returns a label whose conditions no node can satisfy.
func (r LabelRule) impossible() (label string, ok bool) {
	for _, c := range r {
		if c.Not {
			continue
		}
		may := slices.ContainsFunc(c.Values, func(v string) bool {
			return !slices.ContainsFunc(r, func(o LabelCondition) bool {
				return o.Label == c.Label && !o.allows(v, true)
			})
		})
		if !may {
			return c.Label, true
		}
	}
	return "", false
}

func (c LabelCondition) allows(value string, has bool) bool {
	return (has && slices.Contains(c.Values, value)) != c.Not
}

// Allows reports whether a node with some labels may have replicas.
func (r LabelRule) Allows(labels map[string]string) bool {
	for _, c := range r {
		if v, has := labels[c.Label]; !c.allows(v, has) {
			return false
		}
	}
	return true
}

// And returns the rule that requires the conditions of both rules.
func (r LabelRule) And(o LabelRule) LabelRule {
	switch {
	case len(r) == 0:
		return o
	case len(o) == 0:
		return r
	}
	return append(slices.Clone(r), o...).normal()
}

// String is the rule as ParseLabelRule reads it.
func (r LabelRule) String() string {
	var b strings.Builder
	for i, c := range r {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Label)
		if c.Not {
			b.WriteByte('!')
		}
		b.WriteString("=" + strings.Join(c.Values, "|"))
	}
	return b.String()
}
