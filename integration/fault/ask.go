package fault

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// ask runs a query that returns one value on a node.
func ask[T any](ctx context.Context, n *Node, query string) (v T, err error) {
	conn, err := pgx.Connect(ctx, n.URL())
	if err != nil {
		return v, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, query).Scan(&v)
	return v, err
}
