package sql_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

type testPair struct {
	A int32
	B *string
}

// TestCompositeBinary reads and writes values of a composite type in the binary format, as a driver that
// has loaded the type from the catalogs does.
func TestCompositeBinary(t *testing.T) {
	url := strings.Replace((&served{t: t, w: newWorld(t)}).url(""), "://", "://postgres@", 1)
	c, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	for _, text := range []string{
		"CREATE TYPE pair AS (a int, gone int, b text)", "ALTER TYPE pair DROP ATTRIBUTE gone",
		"CREATE TABLE t (id int PRIMARY KEY, v pair, list pair[])",
	} {
		_, err := c.Exec(t.Context(), text)
		must(t, err)
	}
	for _, name := range []string{"pair", "pair[]"} {
		typ, err := c.LoadType(t.Context(), name)
		must(t, err)
		c.TypeMap().RegisterType(typ)
	}
	text := `x"y\, (z`
	v, list := testPair{7, &text}, []testPair{{1, nil}, {2, &text}}
	_, err = c.Exec(t.Context(), "INSERT INTO t VALUES ($1, $2, $3)", 1, v, list)
	must(t, err)
	var got testPair
	var gotList []testPair
	row := c.QueryRow(t.Context(), "SELECT v, list FROM t WHERE v = $1::pair AND list[2] = $2::pair", v, list[1])
	must(t, row.Scan(&got, &gotList))
	if !reflect.DeepEqual(got, v) || !reflect.DeepEqual(gotList, list) {
		t.Errorf("%v, %v", got, gotList)
	}
	var printed string
	must(t, c.QueryRow(t.Context(), "SELECT v::text FROM t").Scan(&printed))
	if want := `(7,"x""y\\, (z")`; printed != want {
		t.Errorf("%s instead of %s", printed, want)
	}
}
