package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// importer loads files into a table over one connection.
type importer struct {
	cfg      Config
	conn     *pgx.Conn
	target   target
	messages *os.File
	rejects  *os.File // nil where bad lines are not kept
	bar      *progressBar
	started  time.Time

	total Summary
	place place // of the file in work
}

// batch is a run of lines that is loaded as one transaction.
type batch struct {
	documents []document
	bad       []badLine
	last      int64 // the last line it covers
	bytes     int64
	err       error // of reading the file, after what is in the batch
}

type badLine struct {
	line int64
	raw  []byte
	err  error
}

func (imp *importer) summary() Summary {
	s := imp.total
	s.Table, s.Files, s.Seconds = imp.target.name, len(imp.cfg.Files), time.Since(imp.started).Seconds()
	return s
}

// keepsPlace reports whether this import can be resumed: standard input cannot.
func (imp *importer) keepsPlace() bool { return imp.place.id != "" }

// file loads one file: one goroutine reads and splits lines a batch ahead of the one that is being
// loaded.
func (imp *importer) file(ctx context.Context, name string) error {
	src, err := openSource(name)
	if err != nil {
		return err
	}
	defer src.close()
	imp.place = place{}
	if src.key != "" {
		p, found, err := imp.findPlace(ctx, src)
		if err != nil {
			return err
		}
		if err := imp.begin(src, p, found); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan *batch, 1)
	go readBatches(ctx, src, imp.cfg, batches)
	started := time.Now()
	before := imp.total
	for b := range batches {
		if err := imp.load(ctx, src, b); err != nil {
			return err
		}
		if b.err != nil {
			return b.err
		}
		imp.bar.show(fileProgress{
			name: filepath.Base(src.name), read: src.read.Load(), size: src.size, took: time.Since(started),
			documents: imp.total.Documents + imp.total.Skipped - before.Documents - before.Skipped,
			bytes:     imp.total.Bytes - before.Bytes,
		})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return imp.finish(ctx)
}

// begin starts at the beginning, or where the earlier import stopped if it is to be resumed.
func (imp *importer) begin(src *source, p place, found bool) error {
	if !imp.cfg.Resume {
		if found && !p.finished && imp.cfg.OnConflict == "error" {
			fmt.Fprintf(
				imp.messages, "an earlier import of %s stopped after line %s; --resume would go on from there\n",
				src.name, humanize.Comma(p.line),
			)
		}
		imp.place = place{id: p.id, fileSize: p.fileSize}
		return nil
	}
	imp.place = p
	imp.total.Resumed += p.line
	return src.skipTo(p.line)
}

// finish notes that the file is done, so that another --resume has nothing to do.
func (imp *importer) finish(ctx context.Context) error {
	if !imp.keepsPlace() {
		return nil
	}
	imp.place.finished = true
	return pgx.BeginFunc(ctx, imp.conn, func(tx pgx.Tx) error { return imp.place.keep(ctx, tx) })
}

// batchBytes ends a batch of large documents early.
const batchBytes = 16 << 20

// readBatches reads the file to its end.
func readBatches(ctx context.Context, src *source, cfg Config, out chan<- *batch) {
	defer close(out)
	for {
		b := &batch{}
		for len(b.documents) < cfg.Batch && b.bytes < batchBytes && b.err == nil {
			line, err := src.next()
			if err != nil && !errors.Is(err, errLineTooLong) {
				b.err = err
				break
			}
			b.last = src.line
			if err == nil && len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			d := document{line: src.line, raw: line}
			if err == nil {
				d.id, d.doc, err = splitDocument(line, cfg.IDField, cfg.DocField)
			}
			if err != nil {
				b.bad = append(b.bad, badLine{src.line, line, err})
				if len(b.bad) > cfg.MaxErrors {
					break
				}
				continue
			}
			b.documents = append(b.documents, d)
			b.bytes += int64(len(d.doc) + len(d.id))
		}
		end := errors.Is(b.err, io.EOF)
		if end {
			b.err = nil
		}
		if b.last > 0 || b.err != nil {
			select {
			case out <- b:
			case <-ctx.Done():
				return
			}
		}
		if end || b.err != nil {
			return
		}
	}
}

// load loads one batch. Lines before a bad one are loaded when that one ends the import.
func (imp *importer) load(ctx context.Context, src *source, b *batch) error {
	documents := b.documents
	var fatal *badLine
	for i := range b.bad {
		if imp.total.Rejected+int64(i) >= int64(imp.cfg.MaxErrors) {
			fatal = &b.bad[i]
			b.bad, b.last = b.bad[:i], fatal.line-1
			for len(documents) > 0 && documents[len(documents)-1].line > fatal.line {
				documents = documents[:len(documents)-1]
			}
			break
		}
	}
	for _, bad := range b.bad {
		if err := imp.reject(src, bad); err != nil {
			return err
		}
	}
	if b.last > 0 && (len(documents) > 0 || imp.keepsPlace()) {
		if err := imp.loadDocuments(ctx, src, documents, b.last); err != nil {
			return err
		}
	}
	if fatal != nil {
		return fmt.Errorf("%s:%d: %w", src.name, fatal.line, fatal.err)
	}
	return nil
}

// loadDocuments loads documents in one transaction. If the server refuses one of them, those before
// it, and those after it, become transactions of their own.
func (imp *importer) loadDocuments(ctx context.Context, src *source, documents []document, last int64) error {
	loaded, err := imp.transaction(ctx, documents, last)
	if err == nil {
		imp.total.Lines += last - imp.place.line
		imp.total.Documents += loaded
		imp.total.Skipped += int64(len(documents)) - loaded
		for _, d := range documents {
			imp.total.Bytes += int64(len(d.doc))
		}
		imp.place.line, imp.place.documents = last, imp.place.documents+loaded
		return nil
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || !ofOneDocument(pg) || len(documents) == 0 {
		return err
	}
	if len(documents) == 1 {
		bad := badLine{documents[0].line, documents[0].raw, serverError(pg)}
		if imp.total.Rejected >= int64(imp.cfg.MaxErrors) {
			return fmt.Errorf("%s:%d: %w", src.name, bad.line, bad.err)
		}
		if err := imp.reject(src, bad); err != nil {
			return err
		}
		return imp.loadDocuments(ctx, src, nil, last)
	}
	at, known := copyLine(pg, len(documents))
	if !known {
		at = len(documents) / 2
	}
	parts := [][]document{documents[:at], documents[at:]}
	if known {
		parts = [][]document{documents[:at], documents[at : at+1], documents[at+1:]}
	}
	for i, part := range parts {
		end := last
		if i+1 < len(parts) && len(parts[i+1]) > 0 {
			end = parts[i+1][0].line - 1
		}
		if len(part) == 0 {
			continue
		}
		if err := imp.loadDocuments(ctx, src, part, end); err != nil {
			return err
		}
	}
	return nil
}

// ofOneDocument reports whether an error may be one document's own: its value, or a constraint.
// Others are the server's, the table's or the connection's.
func ofOneDocument(pg *pgconn.PgError) bool {
	return strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23") || strings.HasPrefix(pg.Code, "54")
}

func serverError(pg *pgconn.PgError) error {
	text := pg.Message + " (SQLSTATE " + pg.Code + ")"
	if pg.Detail != "" {
		text += "; " + pg.Detail
	}
	if pg.Hint != "" {
		text += "; " + pg.Hint
	}
	return errors.New(text)
}

var copyContext = regexp.MustCompile(`^COPY [^\n]*?, line (\d+)`)

// copyLine finds the document that COPY stopped at.
func copyLine(pg *pgconn.PgError, n int) (int, bool) {
	m := copyContext.FindStringSubmatch(pg.Where)
	if m == nil {
		return 0, false
	}
	line, err := strconv.Atoi(m[1])
	return line - 1, err == nil && line >= 1 && line <= n
}

// reject counts a bad line and keeps it, durably before the batch that passes over it is.
func (imp *importer) reject(src *source, bad badLine) error {
	imp.total.Rejected++
	imp.place.rejected++
	imp.bar.end()
	fmt.Fprintf(imp.messages, "%s:%d: %v\n", src.name, bad.line, bad.err)
	if imp.rejects == nil {
		return nil
	}
	if _, err := imp.rejects.Write(append(bytes.Clone(bad.raw), '\n')); err != nil {
		return err
	}
	return imp.rejects.Sync()
}

// transaction loads documents and moves the place; it returns how many were inserted or replaced.
func (imp *importer) transaction(ctx context.Context, documents []document, last int64) (int64, error) {
	var loaded int64
	err := pgx.BeginFunc(ctx, imp.conn, func(tx pgx.Tx) (err error) {
		if len(documents) > 0 {
			if loaded, err = imp.write(ctx, tx, documents); err != nil {
				return err
			}
		}
		if !imp.keepsPlace() {
			return nil
		}
		next := imp.place
		next.line, next.documents = last, next.documents+loaded
		return next.keep(ctx, tx)
	})
	return loaded, err
}

func (imp *importer) write(ctx context.Context, tx pgx.Tx, documents []document) (int64, error) {
	if imp.cfg.OnConflict == "error" {
		text := fmt.Sprintf("COPY %s (%s, %s) FROM STDIN", imp.target.table, imp.target.id, imp.target.doc)
		tag, err := tx.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(copyText(documents)), text)
		return tag.RowsAffected(), err
	}
	then := "DO NOTHING"
	if imp.cfg.OnConflict == "update" {
		then = fmt.Sprintf("DO UPDATE SET %s = excluded.%[1]s", imp.target.doc)
		documents = lastOfEach(documents)
	}
	ids, docs := make([]string, len(documents)), make([]string, len(documents))
	for i, d := range documents {
		ids[i], docs[i] = d.id, string(d.doc)
	}
	tag, err := tx.Exec(ctx, fmt.Sprintf(`INSERT INTO %s (%s, %s)
		SELECT id, doc::jsonb FROM unnest($1::text[], $2::text[]) AS input (id, doc)
		ON CONFLICT (%[2]s) %[4]s`,
		imp.target.table, imp.target.id, imp.target.doc, then), ids, docs)
	return tag.RowsAffected(), err
}

// lastOfEach keeps the last document of each id: one statement cannot replace a row twice.
func lastOfEach(documents []document) []document {
	at := make(map[string]int, len(documents))
	out := make([]document, 0, len(documents))
	for _, d := range documents {
		if i, ok := at[d.id]; ok {
			out[i] = d
			continue
		}
		at[d.id] = len(out)
		out = append(out, d)
	}
	return out
}

// copyText writes documents in COPY's text format.
func copyText(documents []document) []byte {
	size := 0
	for _, d := range documents {
		size += len(d.id) + len(d.doc) + 16
	}
	out := make([]byte, 0, size+size/16)
	for _, d := range documents {
		out = appendCopyText(out, d.id)
		out = append(out, '\t')
		out = appendCopyText(out, d.doc)
		out = append(out, '\n')
	}
	return out
}

func appendCopyText[T string | []byte](out []byte, text T) []byte {
	for i := range len(text) {
		switch c := text[i]; c {
		case '\\':
			out = append(out, '\\', '\\')
		case '\t':
			out = append(out, '\\', 't')
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		default:
			out = append(out, c)
		}
	}
	return out
}
