package shardmap

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

// IDKind says what the text after an id's last "$" means.
type IDKind uint8

const (
	WholeID     IDKind = iota // no "$", or only at position 0: the whole id is hashed
	AnchoredID                // "x$anchor": the anchor is hashed
	ExplicitID                // "x$@n": n is the bucket
	PlacementID               // "x$": asks for placement by the collection's policy
)

// ID is a document's id taken apart. The whole text remains the document's identity.
type ID struct {
	Text   string
	Base   string // the part before the last "$"; the whole text of a WholeID
	Anchor string // the part after it
	Kind   IDKind
	Bucket Bucket // of a PlacementID: that of Base
	// fold is the D of the placement rule, for a PlacementID. It chooses in the block of the
	// content. It is the bucket to which Base is hashed without prefix rules, so that a later rule
	// changes no existing id.
	fold Bucket
}

// ParseID takes an id apart and finds its bucket if there are no rules for prefixes.
func ParseID(id string) (ID, error) { return Prefixes(nil).ParseID(id) }

// ParseID takes an id apart and finds its bucket. Errors: 22021 for NUL or invalid UTF-8; 22023 for
// a "$@" number that is out of range or not canonical, for "$" and for an end in "$$".
func (ps Prefixes) ParseID(id string) (ID, error) {
	if err := checkText(id); err != nil {
		return ID{}, err
	}
	i := strings.LastIndexByte(id, '$')
	if i == len(id)-1 && i >= 0 {
		return ps.parsePlacement(id)
	}
	return ps.parseSettled(id, i)
}

// parseSettled handles ids that do not end in "$"; i is the index of the last "$" or -1.
func (ps Prefixes) parseSettled(id string, i int) (ID, error) {
	if i <= 0 {
		return ID{Text: id, Base: id, Kind: WholeID, Bucket: ps.HashBucket(id)}, nil
	}
	p := ID{Text: id, Base: id[:i], Anchor: id[i+1:], Kind: AnchoredID}
	if digits, ok := strings.CutPrefix(p.Anchor, "@"); ok && allDigits(digits) {
		b, err := ps.parseBucketNumber(id, digits)
		if err != nil {
			return ID{}, err
		}
		p.Kind, p.Bucket = ExplicitID, b
		return p, nil
	}
	p.Bucket = ps.HashBucket(p.Anchor)
	return p, nil
}

func (ps Prefixes) parsePlacement(id string) (ID, error) {
	base := id[:len(id)-1]
	switch {
	case base == "":
		return ID{}, pgerr.New(pgerr.InvalidParameterValue, `id "$" is not allowed`).
			WithDetail(`Nothing stands before the "$".`).
			WithHint(`Write a name before the "$", as in "orders/1-A$".`)
	case base[len(base)-1] == '$':
		return ID{}, pgerr.New(pgerr.InvalidParameterValue, `id %s ends with "$$"`, quoteID(id)).
			WithDetail(`One "$" at the end asks for placement by content; two mean nothing.`).
			WithHint(`Remove one "$".`)
	}
	at := strings.LastIndexByte(base, '$')
	own, err := ps.parseSettled(base, at)
	if err != nil {
		return ID{}, err
	}
	fold := own.Bucket
	if own.Kind != ExplicitID && len(ps) > 0 {
		fold = HashBucket(own.hashed())
	}
	return ID{Text: id, Base: base, Kind: PlacementID, Bucket: own.Bucket, fold: fold}, nil
}

// hashed returns the text that is hashed for an id that names no bucket.
func (id ID) hashed() string {
	if id.Kind == AnchoredID {
		return id.Anchor
	}
	return id.Base
}

// parseBucketNumber reads the digits after "$@". Only the canonical decimal form of a bucket is
// allowed, and the number of an assigned bucket only if a prefix rule has it.
func (ps Prefixes) parseBucketNumber(id, digits string) (Bucket, error) {
	trimmed := strings.TrimLeft(digits, "0")
	n, err := strconv.ParseUint(trimmed, 10, 32)
	inRange := trimmed == "" || err == nil && (n < BucketCount || ps.Of(Bucket(n)) != nil)
	switch {
	case !inRange:
		return 0, pgerr.New(pgerr.InvalidParameterValue, `bucket number in id %s is out of range`, quoteID(id)).
			WithDetail("%s", ps.explain()).
			WithHint(`Use a bucket of that range after "$@", or another anchor.`)
	case len(digits) > 1 && digits[0] == '0':
		return 0, pgerr.New(pgerr.InvalidParameterValue, `bucket number in id %s has leading zeros`, quoteID(id)).
			WithDetail(`A bucket has one spelling, so that a document has one id.`).
			WithHint(`Write "$@%d".`, n)
	}
	return Bucket(n), nil
}

// CheckExplicit refuses an id that names its bucket if sherd.explicit_buckets is off. It is meant
// for ids that a client chooses for new documents; ids made by placement are read and updated under
// either setting.
func (id ID) CheckExplicit(allowed bool) error {
	if allowed || id.Kind != ExplicitID {
		return nil
	}
	return pgerr.New(pgerr.InvalidParameterValue, `id %s names its bucket`, quoteID(id.Text)).
		WithDetail(`sherd.explicit_buckets is off.`).
		WithHint(`Anchor the document to another id, as in %s, or set sherd.explicit_buckets = on.`,
			quoteID(id.Base+"$customers/1-A"))
}

// noPlacement is the error for an id that asks for placement if nothing can place it.
func noPlacement(id string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, `id %s ends with "$"`, quoteID(id)).
		WithDetail(
			`A "$" at the end asks for placement by content, which happens only when a document is inserted into a `+
				`collection with a sharding policy.`,
		).
		WithHint(`Write the whole id, name an anchor as in %s, or give the collection a policy: `+
			`ALTER TABLE … SET (shard_by = '…').`,
			quoteID(id+"customers/1-A"))
}

// checkText returns an error for text that PostgreSQL does not allow.
func checkText(s string) error {
	for i := 0; i < len(s); {
		c := s[i]
		if c == 0 {
			return pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0x00`)
		}
		if c < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0x%02x`, c)
		}
		i += n
	}
	return nil
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// maxShown bounds, in runes, the ids and values that error texts repeat.
const maxShown = 120

// quoteID quotes an id or value for an error text as PostgreSQL does, shortened if it is long.
func quoteID(s string) string {
	if utf8.RuneCountInString(s) > maxShown {
		s = string([]rune(s)[:maxShown]) + "…"
	}
	return `"` + s + `"`
}
