package shardmap

import (
	"bytes"
	"encoding/hex"
)

// KeyForm says how names of key ranges print the keys of a table.
type KeyForm int8

// Forms of keys.
const (
	EncodedKeys KeyForm = 0  // the bytes of the encoding
	ByteKeys    KeyForm = -1 // one column of bytes: the value
	// one column of integers: the value, big endian in so many bytes, zero bytes at the end left
	// out
	Int2Keys KeyForm = 2
	Int4Keys KeyForm = 4
	Int8Keys KeyForm = 8
)

// Tags of the encoding of keys (V2) that names decode.
const (
	keyTagInt   = 0x28
	keyTagBytes = 0x40
)

// Name returns the name of the range as Vitess writes it: "-40", "40-80". It has the bytes that the
// user chose if the form has such bytes, and those of the encoding otherwise. Negative integers
// have no name, because their bytes do not sort as they do.
func (k KeyRange) Name(f KeyForm) string {
	start, ok := f.chosen(k.Start)
	end, ok2 := f.chosen(k.End)
	if !ok || !ok2 {
		return k.String()
	}
	return hex.EncodeToString(start) + "-" + hex.EncodeToString(end)
}

// Prints reports whether the form has bytes of a user's choice for a bound.
func (f KeyForm) Prints(key []byte) bool {
	_, ok := f.chosen(key)
	return ok
}

// chosen decodes a bound; ok is false for one that has no bytes of a user's choice.
func (f KeyForm) chosen(key []byte) (value []byte, ok bool) {
	switch {
	case len(key) == 0:
		return nil, true
	case f == ByteKeys && key[0] == keyTagBytes:
		return decodedBytes(key[1:])
	case f > 0 && key[0] >= keyTagInt && int(key[0]-keyTagInt) == len(key)-1 && len(key)-1 <= int(f):
		value = append(make([]byte, int(f)-len(key)+1), key[1:]...)
		return append(value[:1:1], bytes.TrimRight(value[1:], "\x00")...), true
	}
	return nil, false
}

// decodedBytes decodes bytes in which 0x00 is 0x00 0xff, and whose end is 0x00 0x01.
func decodedBytes(key []byte) (value []byte, ok bool) {
	for i := 0; i < len(key); i++ {
		if key[i] != 0 {
			value = append(value, key[i])
			continue
		}
		if i++; i == len(key) || key[i] != 0xff {
			return value, i == len(key)-1 && key[i] == 1 && len(value) > 0
		}
		value = append(value, 0)
	}
	return nil, false
}
