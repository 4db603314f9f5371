package integration

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// sqlState is the SQLSTATE of an error, "" where there is none.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
