package importer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSplitDocument(t *testing.T) {
	for _, test := range []struct{ line, docField, id, doc, err string }{
		{`{"id":"a/1","x":1.10}`, "", "a/1", `{"x":1.10}`, ""},
		{`  { "x" : [ {"id":2} , "]}" ] , "id" : "a" , "y":{"z":"\"}"} } `, "", "a",
			`{"x" : [ {"id":2} , "]}" ],"y":{"z":"\"}"}}`, ""},
		{`{"id":12345678901234567890,"x":12345678901234567890.10}`, "", "12345678901234567890",
			`{"x":12345678901234567890.10}`, ""},
		{`{"id":"a","id":"b","x":1}`, "", "b", `{"x":1}`, ""},
		{`{"\u0069d":"a\/1\u00e9"}`, "", "a/1é", `{}`, ""},
		{`{"id":"a","doc":{"x":1},"other":2}`, "doc", "a", `{"x":1}`, ""},
		{`{"id":"a","doc":null}`, "doc", "a", `null`, ""},
		{`{"id":"a"}`, "doc", "", "", `no field "doc", which holds the document`},
		{`{"x":1}`, "", "", "", `no field "id", which holds the id`},
		{`{"id":null}`, "", "", "", `field "id" is neither a string nor a number, so it cannot be the id`},
		{`{"id":["a"]}`, "", "", "", `field "id" is neither a string nor a number, so it cannot be the id`},
		{`"a"`, "", "", "", `the line is not a JSON object`},
		{`[{"id":1}]`, "", "", "",
			`the line is an array, not an object; one object a line is wanted: ` +
				`jq -c '.[]' FILE makes that of an array`},
		{`{"id":"a",`, "", "", "",
			`invalid JSON: the object does not end on its line; one object a line is wanted: jq -c . FILE makes that`},
		{`{"id":"a"} x`, "", "", "", `invalid JSON: invalid character 'x' after top-level value`},
		{"{\"id\":\"\xff\"}", "", "", "", `invalid UTF-8`},
	} {
		id, doc, err := splitDocument([]byte(test.line), "id", test.docField)
		if got := errorText(err); got != test.err || id != test.id || string(doc) != test.doc {
			t.Errorf("%s:\ngot  %q %s %s\nwant %q %s %s", test.line, id, doc, got, test.id, test.doc, test.err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzSplitDocument(f *testing.F) {
	for _, seed := range []string{`{"id":"a","doc":{"x":[1,{}]}}`, `{ "id" : -1.5e3 , "a":"\\\"" }`, `{}`, `[`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		_, doc, err := splitDocument(line, "id", "")
		if err == nil && validObject(doc) != nil {
			t.Fatalf("%q gives the document %q", line, doc)
		}
	})
}

func TestSourceReadsGzipAndLongLines(t *testing.T) {
	text := "{\"id\":1}\r\n\n" + strings.Repeat("x", 1<<20) + "\nlast"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"plain.jsonl": []byte(text), "packed.jsonl": packed.Bytes()} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openSource(path)
		if err != nil {
			t.Fatal(err)
		}
		var lengths []int
		for {
			line, err := s.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			lengths = append(lengths, len(line))
		}
		if want := []int{8, 0, 1 << 20, 4}; len(lengths) != 4 || lengths[0] != want[0] || lengths[2] != want[2] ||
			lengths[3] != want[3] {
			t.Errorf("%s: lines of %v bytes", name, lengths)
		}
		if s.read.Load() != int64(len(content)) || s.line != 4 {
			t.Errorf("%s: read %d of %d bytes, %d lines", name, s.read.Load(), len(content), s.line)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestProgressText(t *testing.T) {
	p := fileProgress{name: "a.jsonl", read: 50, size: 200, documents: 12345, bytes: 3_000_000, took: 3 * time.Second}
	if got, want := p.text(8), "a.jsonl [##......]  25%  12,345 documents  3.0 MB  4,115/s  9s left"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p.size = 0
	if got, want := p.text(8), "a.jsonl  12,345 documents  3.0 MB  4,115/s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
