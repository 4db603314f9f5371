package fault

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// ask asks a node for a number.
func ask(ctx context.Context, n *Node, query string) (v int, err error) {
	conn, err := pgx.Connect(ctx, n.URL())
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, query).Scan(&v)
	return v, err
}
