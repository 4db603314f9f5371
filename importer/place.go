package importer

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// place is how far the import of one file into one table has come. It is a row of
// sherd_import.progress, written in the transaction of the batch it stands behind, so it is exact:
// no document is loaded twice or left out by a resumed import.
type place struct {
	id        string // file and table
	line      int64  // lines dealt with
	documents int64
	rejected  int64
	fileSize  int64
	finished  bool
}

var progressTable = []string{
	"CREATE SCHEMA IF NOT EXISTS sherd_import",
	`CREATE TABLE IF NOT EXISTS sherd_import.progress (
		id text PRIMARY KEY, line bigint NOT NULL, documents bigint NOT NULL, rejected bigint NOT NULL,
		file_size bigint NOT NULL, finished boolean NOT NULL, updated timestamptz NOT NULL)`,
}

// findPlace reads the place an earlier import of the file came to; found is false if there was
// none.
func (imp *importer) findPlace(ctx context.Context, src *source) (p place, found bool, err error) {
	for _, text := range progressTable {
		if _, err := imp.conn.Exec(ctx, text); err != nil {
			return p, false, fmt.Errorf("keeping the import's progress: %w", err)
		}
	}
	p = place{id: imp.target.name + " " + src.key, fileSize: src.size}
	var size int64
	err = imp.conn.QueryRow(
		ctx, "SELECT line, documents, rejected, file_size, finished FROM sherd_import.progress WHERE id = $1", p.id,
	).
		Scan(&p.line, &p.documents, &p.rejected, &size, &p.finished)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, nil
	}
	if err == nil && imp.cfg.Resume && size != src.size {
		return p, false, fmt.Errorf(
			"%s has changed since the import that is to be resumed: it had %d bytes and has %d", src.name, size,
			src.size,
		)
	}
	return p, err == nil, err
}

// keep writes the place into the transaction of a batch.
func (p place) keep(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `INSERT INTO sherd_import.progress
			(id, line, documents, rejected, file_size, finished, updated)
		VALUES ($1, $2, $3, $4, $5, $6, now())
		ON CONFLICT (id) DO UPDATE SET line = excluded.line, documents = excluded.documents,
			rejected = excluded.rejected, file_size = excluded.file_size,
			finished = excluded.finished, updated = excluded.updated`,
		p.id, p.line, p.documents, p.rejected, p.fileSize, p.finished)
	return err
}
