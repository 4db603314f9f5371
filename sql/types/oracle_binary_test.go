package types

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestOracleBinary compares the binary form of every sample with PostgreSQL's; -rewrite asks
// PostgreSQL, as in TestOracle.
func TestOracleBinary(t *testing.T) {
	var ours strings.Builder
	for _, s := range samples {
		fmt.Fprintf(&ours, "%s %q %s\n", TypeName(s.oid), s.text,
			hex.EncodeToString(AppendSend(nil, s.oid, s.datum(t), nil)))
	}
	if !*rewrite {
		golden(t, "testdata/binary.golden", ours.String())
		return
	}
	conn, err := pgconn.Connect(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var theirs strings.Builder
	for _, s := range samples {
		q := "select '" + s.text + "'::" + TypeName(s.oid)
		if s.oid == Bit || s.oid == BPChar {
			q = "select '" + s.text + "'::" + map[OID]string{Bit: "varbit", BPChar: "bpchar"}[s.oid]
		}
		r := conn.ExecParams(context.Background(), q, nil, nil, nil, []int16{1}).Read()
		if r.Err != nil {
			t.Fatalf("%s: %v", q, r.Err)
		}
		fmt.Fprintf(&theirs, "%s %q %s\n", TypeName(s.oid), s.text, hex.EncodeToString(r.Rows[0][0]))
	}
	golden(t, "testdata/binary.golden", theirs.String())
	a, b := strings.Split(ours.String(), "\n"), strings.Split(theirs.String(), "\n")
	for i := range b {
		if a[i] != b[i] {
			t.Errorf("got  %s\nwant %s", a[i], b[i])
		}
	}
}
