package pgwire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgproto3/v2"
)

var (
	rewrite = flag.Bool("rewrite", false, "write the answers into the golden traces")
	oracle  = flag.String("oracle", "", "host:port of a PostgreSQL to play the traces against")
)

// TestTraces plays the conversations of testdata. A line is a comment (#), a message of the client
// (>), what to wait for (=), or an answer of the server (<). Messages are written together up to
// the next wait.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".trace"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script := string(want)
			if *oracle != "" {
				if strings.Contains(script, "# not PostgreSQL") {
					t.Skip("differs by design")
				}
				compareTrace(t, normalise(script), normalise(playTrace(t, *oracle, script)))
				return
			}
			got := playTrace(t, traceServer(t), script)
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			compareTrace(t, script, got)
		})
	}
}

func compareTrace(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			t.Fatalf("line %d:\n want %s\n  got %s\n--- all:\n%s", i+1, a, b, got)
		}
	}
}

// normalise drops what is the session's: the settings told at start.
func normalise(trace string) string {
	var out []string
	for _, line := range strings.Split(trace, "\n") {
		if !strings.HasPrefix(line, "< ParameterStatus") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// playTrace sends the client's messages of a script and returns the script with the answers of this
// server.
func playTrace(t *testing.T, addr, script string) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(testTimeout))
	p := &player{t: t, nc: nc}
	for _, line := range strings.Split(strings.TrimRight(script, "\n"), "\n") {
		if strings.HasPrefix(line, "<") {
			continue
		}
		fmt.Fprintln(&p.out, line)
		switch {
		case strings.HasPrefix(line, "> "):
			p.pending = append(p.pending, clientMessage(t, line[2:])...)
		case strings.HasPrefix(line, "= "):
			p.write()
			p.wait(strings.Fields(line[2:]))
		}
	}
	p.write()
	return p.out.String()
}

type player struct {
	t       *testing.T
	nc      net.Conn
	pending []byte
	out     bytes.Buffer
}

func (p *player) write() {
	if len(p.pending) > 0 {
		_, _ = p.nc.Write(p.pending) // a server that has hung up shows when reading
		p.pending = nil
	}
}

// wait reads until as many messages of a type as asked for, the end of the stream, or n raw bytes.
func (p *player) wait(what []string) {
	n := 1
	if len(what) > 1 {
		n, _ = strconv.Atoi(what[1])
	}
	if what[0] == "byte" {
		b := make([]byte, n)
		if _, err := io.ReadFull(p.nc, b); err != nil {
			p.t.Fatal(err)
		}
		fmt.Fprintf(&p.out, "< %s\n", b)
		return
	}
	for n > 0 {
		typ, body, err := readMessage(p.nc)
		if err != nil {
			if what[0] != "end" {
				p.t.Fatalf("waiting for %v: %v\n%s", what, err, p.out.String())
			}
			fmt.Fprintln(&p.out, "< end")
			return
		}
		fmt.Fprintln(&p.out, "<", serverMessage(p.t, typ, body))
		if string(typ) == what[0] {
			n--
		}
	}
}

func readMessage(r io.Reader) (byte, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	_, err := io.ReadFull(r, body)
	return head[0], body, err
}

// clientMessage encodes a line such as: Parse s1 "select $1::int4" 23.
func clientMessage(t testing.TB, line string) []byte {
	t.Helper()
	words := splitWords(t, line)
	args := words[1:]
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	var m pgproto3.FrontendMessage
	switch words[0] {
	case "Raw":
		b, err := hex.DecodeString(strings.Join(args, ""))
		if err != nil {
			t.Fatal(line, err)
		}
		return b
	case "Startup":
		return startupBytes(args)
	case "Query":
		m = &pgproto3.Query{String: arg(0)}
	case "Parse":
		p := &pgproto3.Parse{Name: arg(0), Query: arg(1)}
		for _, a := range args[min(2, len(args)):] {
			oid, _ := strconv.Atoi(a)
			p.ParameterOIDs = append(p.ParameterOIDs, uint32(oid))
		}
		m = p
	case "Bind":
		m = bindMessage(t, args)
	case "Describe":
		m = &pgproto3.Describe{ObjectType: arg(0)[0], Name: arg(1)}
	case "Execute":
		n, _ := strconv.Atoi(arg(1))
		m = &pgproto3.Execute{Portal: arg(0), MaxRows: uint32(n)}
	case "Close":
		m = &pgproto3.Close{ObjectType: arg(0)[0], Name: arg(1)}
	case "CopyData":
		m = &pgproto3.CopyData{Data: []byte(arg(0))}
	case "CopyFail":
		m = &pgproto3.CopyFail{Message: arg(0)}
	case "CopyDone":
		m = &pgproto3.CopyDone{}
	case "Flush":
		m = &pgproto3.Flush{}
	case "Sync":
		m = &pgproto3.Sync{}
	case "Terminate":
		m = &pgproto3.Terminate{}
	case "FunctionCall":
		m = &pgproto3.FunctionCall{Function: 1}
	default:
		t.Fatalf("what is %q?", line)
	}
	b, err := m.Encode(nil)
	if err != nil {
		t.Fatal(line, err)
	}
	return b
}

// startupBytes makes a StartupMessage of name=value words; version=3.2 asks for another version.
func startupBytes(args []string) []byte {
	version := uint32(protocol3)
	var b []byte
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		if name == "version" {
			var major, minor uint32
			_, _ = fmt.Sscanf(value, "%d.%d", &major, &minor)
			version = major<<16 | minor
			continue
		}
		b = append(append(append(append(b, name...), 0), value...), 0)
	}
	b = append(b, 0)
	head := binary.BigEndian.AppendUint32(nil, uint32(len(b)+8))
	return append(binary.BigEndian.AppendUint32(head, version), b...)
}

// bindMessage reads: PORTAL STATEMENT [t:value | b:hex | null …] [results FORMAT …].
func bindMessage(t testing.TB, args []string) *pgproto3.Bind {
	m := &pgproto3.Bind{DestinationPortal: args[0], PreparedStatement: args[1]}
	results := false
	for _, a := range args[2:] {
		kind, value, _ := strings.Cut(a, ":")
		switch {
		case a == "results":
			results = true
		case results:
			n, _ := strconv.Atoi(a)
			m.ResultFormatCodes = append(m.ResultFormatCodes, int16(n))
		case kind == "format":
			n, _ := strconv.Atoi(value)
			m.ParameterFormatCodes = append(m.ParameterFormatCodes, int16(n))
		case kind == "b":
			raw, err := hex.DecodeString(value)
			if err != nil {
				t.Fatal(a, err)
			}
			m.Parameters = append(m.Parameters, raw)
			m.ParameterFormatCodes = append(m.ParameterFormatCodes, formatBinary)
		case kind == "t":
			m.Parameters = append(m.Parameters, []byte(value))
			m.ParameterFormatCodes = append(m.ParameterFormatCodes, formatText)
		default:
			m.Parameters = append(m.Parameters, nil)
			m.ParameterFormatCodes = append(m.ParameterFormatCodes, formatText)
		}
	}
	return m
}

// splitWords splits at blanks; a word in double quotes is a Go string.
func splitWords(t testing.TB, line string) []string {
	t.Helper()
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				t.Fatal(line, err)
			}
			word, _ := strconv.Unquote(quoted)
			words, line = append(words, word), line[len(quoted):]
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		words, line = append(words, word), rest
	}
	return words
}

// serverMessage shows a message of the server in one line.
func serverMessage(t *testing.T, typ byte, body []byte) string {
	t.Helper()
	switch typ {
	case 'K':
		return "BackendKeyData"
	case 'Z':
		return "ReadyForQuery " + string(body)
	case 'C':
		return "CommandComplete " + strconv.Quote(string(body[:len(body)-1]))
	case 'S':
		parts := strings.Split(string(body), "\x00")
		return fmt.Sprintf("ParameterStatus %s %q", parts[0], parts[1])
	case 'R':
		return fmt.Sprintf("Authentication %d", binary.BigEndian.Uint32(body))
	case 'v':
		return fmt.Sprintf(
			"NegotiateProtocolVersion %d.%d %q", binary.BigEndian.Uint16(body), binary.BigEndian.Uint16(body[2:]),
			string(body[8:]),
		)
	case 'E', 'N':
		return errorLine(typ, body)
	case 'd':
		return fmt.Sprintf("CopyData %q", body)
	case 'G', 'H':
		return fmt.Sprintf(
			"%s %d columns %d", map[byte]string{'G': "CopyInResponse", 'H': "CopyOutResponse"}[typ], body[0],
			binary.BigEndian.Uint16(body[1:]),
		)
	case 'D':
		return dataRowLine(t, body)
	case 'T':
		return rowDescriptionLine(t, body)
	case 't':
		var m pgproto3.ParameterDescription
		if err := m.Decode(body); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint("ParameterDescription ", m.ParameterOIDs)
	}
	name, ok := map[byte]string{'1': "ParseComplete", '2': "BindComplete", '3': "CloseComplete", 'n': "NoData", 's': "PortalSuspended",
		'I': "EmptyQueryResponse", 'c': "CopyDone"}[typ]
	if !ok || len(body) != 0 {
		t.Fatalf("message %q with body %q", typ, body)
	}
	return name
}

// errorLine shows the fields of an error or notice; where PostgreSQL tells its source line is of no
// interest.
func errorLine(typ byte, body []byte) string {
	out := map[byte]string{'E': "ErrorResponse", 'N': "NoticeResponse"}[typ]
	for _, field := range strings.Split(string(body), "\x00") {
		if field != "" && !strings.ContainsRune("FLR", rune(field[0])) {
			out += fmt.Sprintf(" %c:%s", field[0], strconv.Quote(field[1:]))
		}
	}
	return out
}

func dataRowLine(t *testing.T, body []byte) string {
	var m pgproto3.DataRow
	if err := m.Decode(body); err != nil {
		t.Fatal(err)
	}
	out := "DataRow"
	for _, v := range m.Values {
		switch {
		case v == nil:
			out += " null"
		case len(v) > 100:
			out += fmt.Sprintf(" %d bytes", len(v))
		default:
			out += " " + strconv.Quote(string(v))
		}
	}
	return out
}

func rowDescriptionLine(t *testing.T, body []byte) string {
	var m pgproto3.RowDescription
	if err := m.Decode(body); err != nil {
		t.Fatal(err)
	}
	out := "RowDescription"
	for _, f := range m.Fields {
		out += fmt.Sprintf(" %s(table %d.%d type %d size %d mod %d format %d)", f.Name, f.TableOID, f.TableAttributeNumber, f.DataTypeOID,
			f.DataTypeSize, f.TypeModifier, f.Format)
	}
	return out
}
