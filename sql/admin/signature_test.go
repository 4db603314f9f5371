package admin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// signature is a Function.Signature, parsed.
type signature struct {
	name      string
	arguments []argument
	result    types.OID
	columns   []argument // nil if the result is one value
}

// argument is an argument, or a column of a result.
type argument struct {
	mode      byte // as in proargmodes
	name      string
	typ       types.OID
	otherwise string // its default
}

func parseSignature(text string) (s signature, err error) {
	head, result, found := strings.Cut(text, ") RETURNS ")
	name, arguments, called := strings.Cut(head, "(")
	if !found || !called {
		return s, fmt.Errorf("not of the form name(arguments) RETURNS result")
	}
	s.name = name
	if s.arguments, err = parseArguments(arguments, 'i'); err != nil {
		return s, err
	}
	if columns, ok := strings.CutPrefix(result, "TABLE ("); ok {
		s.result = types.Record
		s.columns, err = parseArguments(strings.TrimSuffix(columns, ")"), 't')
		return s, err
	}
	s.result, err = parseType(result)
	return s, err
}

func parseArguments(list string, mode byte) (out []argument, err error) {
	if list == "" {
		return nil, nil
	}
	for _, text := range strings.Split(list, ", ") {
		x := argument{mode: mode}
		text, x.otherwise, _ = strings.Cut(text, " DEFAULT ")
		if rest, ok := strings.CutPrefix(text, "VARIADIC "); ok {
			text, x.mode = rest, 'v'
		}
		if name, typ, ok := strings.Cut(text, " "); ok {
			x.name, text = name, typ
		}
		if x.typ, err = parseType(text); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func parseType(name string) (types.OID, error) {
	element, array := strings.CutSuffix(name, "[]")
	t := pgcatalog.TypeByName("", strings.Trim(element, `"`))
	switch {
	case t == nil:
		return 0, fmt.Errorf("type %s does not exist", name)
	case array:
		return t.Array, nil
	}
	return t.OID, nil
}

func typesOf(list []argument) []types.OID {
	var out []types.OID
	for _, x := range list {
		out = append(out, x.typ)
	}
	return out
}

func (s *signature) variadic() bool {
	return len(s.arguments) > 0 && s.arguments[len(s.arguments)-1].mode == 'v'
}

// options returns the number of last arguments that are options. Drivers send null for options that a
// caller has left out.
func (s *signature) options() int {
	n := 0
	for _, x := range slices.Backward(s.arguments) {
		if !slices.Contains([]string{"rewrite", "wait", "why"}, x.name) {
			break
		}
		n++
	}
	return n
}
