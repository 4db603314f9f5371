package types

import (
	"encoding/hex"
	"errors"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// KeyColumn is a column of a primary key.
type KeyColumn struct {
	Name   string
	Type   OID
	Typmod int32
}

// rawKey is the prefix for a key that has no other text: the encoded key in hexadecimal follows.
const rawKey = `key:\x`

// ParseSplitKey parses the key at which a segment begins: the values of the primary key, or of its
// first columns, joined by "/". Only the last column's value may contain "/".
func ParseSplitKey(columns []KeyColumn, text string, env *Env) (key []byte, err error) {
	if raw, ok := strings.CutPrefix(text, rawKey); ok {
		if key, err = hex.DecodeString(raw); err != nil || len(key) == 0 {
			return nil, pgerr.New(pgerr.InvalidTextRepresentation, `invalid encoded key "%s"`, text)
		}
		return key, nil
	}
	for i, part := range strings.SplitN(text, "/", len(columns)) {
		c := columns[i]
		d, err := Input(c.Type, c.Typmod, part, env)
		if pg := (*pgerr.Error)(nil); errors.As(err, &pg) && pg.Detail == "" {
			return nil, pg.WithDetail(`"%s" is read as column "%s" of the primary key, where a segment is to begin.`,
				part, c.Name)
		}
		if err != nil {
			return nil, err
		}
		key = AppendKey(key, c.Type, d, false)
	}
	return key, nil
}

// SplitKeyText returns the key at which a segment begins as text for display, its columns joined by
// "/"; "" is the lowest key. It may be ambiguous.
func SplitKeyText(columns []KeyColumn, key []byte) string {
	var parts []string
	for _, c := range columns {
		if len(key) == 0 {
			break
		}
		d, rest, err := DecodeKey(c.Type, key, false)
		if err != nil {
			break
		}
		key, parts = rest, append(parts, Output(c.Type, d, nil))
	}
	return strings.Join(parts, "/")
}

// exactSplitKey returns the key at which a segment begins as text that ParseSplitKey reads back.
func exactSplitKey(columns []KeyColumn, key []byte) string {
	text := SplitKeyText(columns, key)
	if again, err := ParseSplitKey(columns, text, nil); err == nil && string(again) == string(key) &&
		text == strings.TrimSpace(text) {
		return text
	}
	return rawKey + hex.EncodeToString(key)
}

// Names of the storage parameters that list where the segments of a range table begin: chosen by a
// user, and by the balancer, which may merge these.
const (
	OptionSplits     = "shard_splits"
	OptionAutoSplits = "shard_auto_splits"
)

// SplitOptions returns the storage parameters with which CREATE TABLE creates these segments.
func SplitOptions(columns []KeyColumn, segments shardmap.Segments) map[string]string {
	starts := map[string][][]byte{}
	for _, s := range segments[min(1, len(segments)):] {
		name := OptionSplits
		if s.Automatic {
			name = OptionAutoSplits
		}
		starts[name] = append(starts[name], s.Start)
	}
	out := map[string]string{}
	for name, keys := range starts {
		out[name] = splitKeysText(columns, keys)
	}
	return out
}

// splitKeysText returns the keys at which segments begin as an array of texts that
// ParseSplitKey reads back.
func splitKeysText(columns []KeyColumn, starts [][]byte) string {
	texts := make([]Datum, len(starts))
	for i, key := range starts {
		texts[i] = NewText(exactSplitKey(columns, key))
	}
	return Output(ArrayTypeOf(Text), NewList(Text, texts), nil)
}
