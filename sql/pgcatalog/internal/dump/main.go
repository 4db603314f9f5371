// Command dump writes the files that package pgcatalog embeds: the system catalogs of a running
// PostgreSQL 15, as gzipped COPY text after a line of column names. Run it with go generate against
// a server created with initdb -E UTF8 --locale=C.UTF-8 and an empty database.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

func main() {
	dsn := flag.String("dsn", "", "connection string of the PostgreSQL 15 to read")
	dir := flag.String("dir", "data", "where the files go")
	flag.Parse()
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, *dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for i := range files {
		f := &files[i]
		if err := dump(ctx, conn, *dir, f); err != nil {
			log.Fatalf("%s: %v", f.name, err)
		}
	}
}

// dump writes one file.
func dump(ctx context.Context, conn *pgconn.PgConn, dir string, f *file) error {
	text, err := f.query(ctx, conn)
	if err != nil {
		return err
	}
	var raw bytes.Buffer
	raw.WriteString(strings.Join(f.columns, "\t") + "\n")
	if _, err := conn.CopyTo(ctx, &raw, "COPY ("+text+") TO STDOUT"); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(raw.Bytes()); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, f.name+".tsv.gz"), packed.Bytes(), 0o644)
}

// columnsOf returns the columns of a catalog and the expression for each.
func columnsOf(ctx context.Context, conn *pgconn.PgConn, table string) (names, exprs []string, err error) {
	res := conn.ExecParams(ctx, `SELECT attname, atttypid::regtype::text FROM pg_attribute
		WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
		[][]byte{[]byte("pg_catalog." + table)}, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, nil, res.Err
	}
	for _, row := range res.Rows {
		name, typ := string(row[0]), string(row[1])
		names = append(names, name)
		if typ == "regproc" {
			exprs = append(exprs, "t."+name+"::oid") // names of overloaded functions are ambiguous
		} else {
			exprs = append(exprs, "t."+name)
		}
	}
	return names, exprs, nil
}
