package builtin

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// textUnicode has Unicode normal forms, and parse_ident.
var textUnicode = map[string]Func{
	"unicode_normalize_func": normalize, "unicode_is_normalized": isNormalized, "parse_ident": parseIdent,
}

func normalForm(name string) (norm.Form, error) {
	switch strings.ToUpper(name) {
	case "NFC":
		return norm.NFC, nil
	case "NFD":
		return norm.NFD, nil
	case "NFKC":
		return norm.NFKC, nil
	case "NFKD":
		return norm.NFKD, nil
	}
	return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid normalization form: %s", name)
}

func normalize(_ *Ctx, a []types.Datum) (types.Datum, error) {
	form, err := normalForm(a[1].S)
	if err != nil {
		return types.Null, err
	}
	return types.NewText(form.String(a[0].S)), nil
}

func isNormalized(_ *Ctx, a []types.Datum) (types.Datum, error) {
	form, err := normalForm(a[1].S)
	if err != nil {
		return types.Null, err
	}
	return types.NewBool(form.IsNormalString(a[0].S)), nil
}

func badIdentifier(text string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, "string is not a valid identifier: \"%s\"", text)
}

// parseIdent splits a qualified name; unquoted parts are folded to lower case.
func parseIdent(_ *Ctx, a []types.Datum) (types.Datum, error) {
	s, strict := strings.TrimLeft(a[0].S, " \t\n\v\f\r"), len(a) < 2 || a[1].Bool()
	var parts []string
	for {
		part, rest, err := identPart(s, a[0].S)
		if err != nil {
			return types.Null, err
		}
		parts = append(parts, part)
		s = strings.TrimLeft(rest, " \t\n\v\f\r")
		after, ok := strings.CutPrefix(s, ".")
		if !ok {
			break
		}
		s = strings.TrimLeft(after, " \t\n\v\f\r")
		if s == "" {
			return types.Null, badIdentifier(a[0].S).WithDetail("No valid identifier after \".\".")
		}
	}
	if s != "" && strict {
		return types.Null, badIdentifier(a[0].S)
	}
	return types.NewTextArray(parts), nil
}

func identPart(s, whole string) (part, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		for i := 1; i < len(s); i++ {
			if s[i] != '"' {
				continue
			}
			if i+1 < len(s) && s[i+1] == '"' {
				i++
				continue
			}
			part = strings.ReplaceAll(s[1:i], `""`, `"`)
			if part == "" {
				return "", "", badIdentifier(whole).WithDetail("Quoted identifier must not be empty.")
			}
			return part, s[i+1:], nil
		}
		return "", "", badIdentifier(whole).WithDetail("String has unclosed double quotes.")
	}
	end := 0
	for end < len(s) && (s[end] == '_' || s[end] >= 0x80 || isASCIILetter(s[end]) || end > 0 &&
		(s[end] == '$' || s[end] >= '0' && s[end] <= '9')) {
		end++
	}
	if end == 0 {
		if strings.HasPrefix(s, ".") {
			return "", "", badIdentifier(whole).WithDetail("No valid identifier before \".\".")
		}
		return "", "", badIdentifier(whole)
	}
	return strings.ToLower(s[:end]), s[end:], nil
}
