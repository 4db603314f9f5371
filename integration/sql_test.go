package integration

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/integration/workload"
)

// sqlState is the SQLSTATE of an error, "" where there is none.
func sqlState(err error) string { return workload.SQLState(err) }

// errorWhere is the context of an error, "" where there is none.
func errorWhere(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Where
	}
	return ""
}

// TestBucketVectors asks the server for the bucket of each id of the frozen vectors.
func TestBucketVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/bucket-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		ID, Err string
		Bucket  int
	}
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) != 43 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	conn := Connect(t, sharedURL(t))
	for _, v := range vectors {
		var got int
		err := conn.QueryRow(t.Context(), "SELECT sherd.bucket($1)", v.ID).Scan(&got)
		if v.Err != "" {
			if sqlState(err) != "22023" {
				t.Errorf("%s: %d, %v, want 22023", v.ID, got, err)
			}
			continue
		}
		if err != nil || got != v.Bucket {
			t.Errorf("%s: %d, %v, want %d", v.ID, got, err, v.Bucket)
		}
	}
}
