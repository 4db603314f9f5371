package copydata

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Format is the format of COPY data.
type Format uint8

// Formats.
const (
	Text Format = iota
	CSV
	Binary
)

// Options are COPY's options, checked by Validate.
type Options struct {
	Format       Format
	Delimiter    byte
	Null         string
	Header       bool
	MatchNames   bool // HEADER MATCH
	Quote        byte
	Escape       byte
	Freeze       bool
	ForceQuote   map[string]bool // columns; "*" is all
	ForceNull    map[string]bool
	ForceNotNull map[string]bool
}

// Defaults returns the options of a format.
func Defaults(f Format) Options {
	if f == CSV {
		return Options{Format: CSV, Delimiter: ',', Quote: '"', Escape: '"'}
	}
	return Options{Format: f, Delimiter: '\t', Null: `\N`}
}

// ValidateDelimiter refuses delimiters and nulls that no data could be read with.
func (o *Options) ValidateDelimiter() error {
	switch {
	case o.Format == Binary:
		return nil
	case o.Delimiter == '\n' || o.Delimiter == '\r':
		return pgerr.New(pgerr.InvalidParameterValue, "COPY delimiter cannot be newline or carriage return")
	case strings.ContainsAny(o.Null, "\r\n"):
		return pgerr.New(pgerr.InvalidParameterValue, "COPY null representation cannot use newline or carriage return")
	case o.Format == Text && strings.IndexByte(`\.abcdefghijklmnopqrstuvwxyz0123456789`, o.Delimiter) >= 0:
		return pgerr.New(pgerr.InvalidParameterValue, `COPY delimiter cannot be "%c"`, o.Delimiter)
	}
	return nil
}

// Validate refuses combinations that PostgreSQL refuses.
func (o *Options) Validate() error {
	if err := o.ValidateDelimiter(); err != nil {
		return err
	}
	switch {
	case o.Format == Binary:
		return nil
	case o.Format == CSV && o.Delimiter == o.Quote:
		return pgerr.New(pgerr.InvalidParameterValue, "COPY delimiter and quote must be different")
	case strings.IndexByte(o.Null, o.Delimiter) >= 0:
		return pgerr.New(pgerr.FeatureNotSupported, "COPY delimiter must not appear in the NULL specification")
	case o.Format == CSV && strings.IndexByte(o.Null, o.Quote) >= 0:
		return pgerr.New(pgerr.FeatureNotSupported, "CSV quote character must not appear in the NULL specification")
	}
	return nil
}
