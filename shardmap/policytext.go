package shardmap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Names of the storage parameters that hold a policy.
const (
	OptionBy      = "shard_by"
	OptionRange   = "shard_range"
	OptionMutable = "shard_mutable"
)

// policyJSON is the JSON form; the catalog keeps it and sherd.set_policy takes it.
type policyJSON struct {
	Fields  []string `json:"Fields"`
	Range   *int64   `json:"Range"`
	Mutable *bool    `json:"Mutable"`
}

// ParsePolicyJSON reads {"Fields":["Customer"],"Range":1000,"Mutable":false}; Range defaults to 1
// and Mutable to false, other keys are refused. Errors are 22023, or 22P02 for text that is no
// JSON.
func ParsePolicyJSON(text string) (*Policy, error) {
	if len(text) > maxPolicyText {
		return nil, policyError("a sharding policy is at most %d bytes long", maxPolicyText)
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	var j policyJSON
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(&j)
	if err == nil {
		if _, err = dec.Token(); err == nil {
			err = errors.New("something follows the object")
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, badPolicyJSON(text, err)
	}
	return j.policy()
}

func badPolicyJSON(text string, err error) error {
	code := pgerr.InvalidParameterValue
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		code = pgerr.InvalidTextRepresentation
	}
	said := pgerr.Capital(strings.TrimPrefix(err.Error(), "json: "))
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		said = fmt.Sprintf("A JSON %s is no value of %s", other.Value, cmp.Or(other.Field, "a policy"))
	}
	return pgerr.New(code, "invalid sharding policy %s", quoteID(text)).WithDetail("%s.", said).
		WithHint(`A policy looks like {"Fields":["Customer"],"Range":1000,"Mutable":false}.`)
}

func (j policyJSON) policy() (*Policy, error) {
	var fields []Field
	for _, s := range j.Fields {
		f, err := ParseField(s)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	rng, mutable := int64(1), false
	if j.Range != nil {
		rng = *j.Range
	}
	if j.Mutable != nil {
		mutable = *j.Mutable
	}
	return NewPolicy(fields, rng, mutable)
}

// JSON prints the canonical JSON form: always three keys, in this order, no blanks.
func (p *Policy) JSON() string {
	rng := int64(p.Range)
	j := policyJSON{Range: &rng, Mutable: &p.Mutable}
	for _, f := range p.Fields {
		j.Fields = append(j.Fields, f.String())
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(j); err != nil {
		panic(err) // strings, a number and a boolean always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Options is the storage-parameter form of a policy: the texts of shard_by, shard_range and
// shard_mutable.
type Options struct {
	By      string
	Range   string // empty where not given
	Mutable string // empty where not given
}

// rangeKeyword is the shard_by that asks for key ranges; a field of that name is written quoted.
const rangeKeyword = "range"

// ParseOptions reads the storage-parameter form. Errors are 22023, and 0A000 for key ranges.
func ParseOptions(o Options) (*Policy, error) {
	if strings.TrimSpace(o.By) == "" {
		return nil, policyError(`%s must name at least one field`, OptionBy).
			WithHint(`Use ALTER TABLE … RESET (%s) to remove the policy.`, OptionBy)
	}
	if Lower(strings.TrimSpace(o.By)) == rangeKeyword {
		return nil, pgerr.Unsupported("key ranges (%s = 'range') are not supported yet", OptionBy).
			WithHint(`To shard by a field of that name, quote it: %s = '"range"'.`, OptionBy)
	}
	fields, err := parseFields(o.By, true)
	if err != nil {
		return nil, err
	}
	rng := int64(1)
	if o.Range != "" {
		if rng, err = strconv.ParseInt(strings.TrimSpace(o.Range), 10, 64); err != nil {
			return nil, policyError("invalid value for integer option %s: %s", quoteID(OptionRange), o.Range)
		}
	}
	mutable := false
	if o.Mutable != "" {
		if mutable, err = parseBool(o.Mutable); err != nil {
			return nil, err
		}
	}
	return NewPolicy(fields, rng, mutable)
}

// parseBool reads a boolean storage parameter as PostgreSQL does: prefixes of true, false, yes, no;
// on, off, 1, 0.
func parseBool(s string) (bool, error) {
	t := strings.ToLower(strings.TrimSpace(s))
	switch {
	case t == "1", t == "on", t != "" && (strings.HasPrefix("true", t) || strings.HasPrefix("yes", t)):
		return true, nil
	case t == "0", t == "of", t == "off", t != "" && (strings.HasPrefix("false", t) || strings.HasPrefix("no", t)):
		return false, nil
	}
	return false, policyError("invalid value for boolean option %s: %s", quoteID(OptionMutable), s)
}

// ByString prints the fields in the form of shard_by.
func (p *Policy) ByString() string {
	parts := make([]string, len(p.Fields))
	for i, f := range p.Fields {
		parts[i] = f.String()
	}
	s := strings.Join(parts, ", ")
	if Lower(s) == rangeKeyword {
		return `"` + s + `"`
	}
	return s
}

// Options prints the canonical storage-parameter form; all three are given.
func (p *Policy) Options() Options {
	return Options{
		By: p.ByString(), Range: strconv.FormatUint(uint64(p.Range), 10), Mutable: strconv.FormatBool(p.Mutable),
	}
}

// OptionsConflict is the error for shard_range or shard_mutable on a collection without shard_by.
func OptionsConflict(option string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "%s needs a sharding policy", option).
		WithHint("Set %s in the same statement or before.", OptionBy)
}
