package main

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// postgres is the database that the rates are compared with.
type postgres struct {
	url  string
	root *pgx.Conn
	conn *pgx.Conn
}

const compareDatabase = "sherd_large"

func openPostgres(ctx context.Context, url string) (*postgres, error) {
	root, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	p := &postgres{url: url, root: root}
	for _, q := range []string{"DROP DATABASE IF EXISTS " + compareDatabase, "CREATE DATABASE " + compareDatabase} {
		if _, err := root.Exec(ctx, q); err != nil {
			return nil, err
		}
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.Database = compareDatabase
	p.conn, err = pgx.ConnectConfig(ctx, cfg)
	return p, err
}

func (p *postgres) close() {
	ctx := context.Background()
	p.conn.Close(ctx)
	_, _ = p.root.Exec(ctx, "DROP DATABASE IF EXISTS "+compareDatabase)
	p.root.Close(ctx)
}
