package copydata

import (
	"encoding/binary"
)

// AppendHeader appends what binary data begins with.
func AppendHeader(dst []byte) []byte {
	dst = append(dst, signature...)
	return append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
}

// AppendTrailer appends what binary data ends with.
func AppendTrailer(dst []byte) []byte { return append(dst, 0xff, 0xff) }

// AppendRecord appends a record of fields; names are the columns' names, for FORCE_QUOTE.
func (o *Options) AppendRecord(dst []byte, fields []Field, names []string) []byte {
	if o.Format == Binary {
		return appendBinary(dst, fields)
	}
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, o.Delimiter)
		}
		switch {
		case f.Null:
			dst = append(dst, o.Null...)
		case o.Format == CSV:
			force := o.ForceQuote["*"] || i < len(names) && o.ForceQuote[names[i]]
			dst = o.appendCSV(dst, f.Bytes, force, len(fields) == 1)
		default:
			dst = o.appendText(dst, f.Bytes)
		}
	}
	return append(dst, '\n')
}

func appendBinary(dst []byte, fields []Field) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(fields)))
	for _, f := range fields {
		if f.Null {
			dst = append(dst, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(f.Bytes)))
		dst = append(dst, f.Bytes...)
	}
	return dst
}

func (o *Options) appendText(dst, b []byte) []byte {
	for _, c := range b {
		switch c {
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\v':
			dst = append(dst, `\v`...)
		case '\\':
			dst = append(dst, `\\`...)
		case o.Delimiter:
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func (o *Options) appendCSV(dst, b []byte, force, single bool) []byte {
	quote := force || string(b) == o.Null || single && string(b) == `\.`
	for _, c := range b {
		quote = quote || c == o.Delimiter || c == o.Quote || c == '\n' || c == '\r'
	}
	if !quote {
		return append(dst, b...)
	}
	dst = append(dst, o.Quote)
	for _, c := range b {
		if c == o.Quote || c == o.Escape {
			dst = append(dst, o.Escape)
		}
		dst = append(dst, c)
	}
	return append(dst, o.Quote)
}
