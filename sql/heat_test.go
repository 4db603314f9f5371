package sql_test

import "testing"

// TestHotSpots: the keys that are read and written most come first, with their share.
func TestHotSpots(t *testing.T) {
	a := newWorld(t).connect(t)
	a.want("CREATE TABLE likes (id text PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	a.want("INSERT INTO likes SELECT 'likes/' || g, '{}' FROM generate_series(1, 50) g", "INSERT 0 50")
	for i := range 600 {
		a.answer("SELECT doc FROM likes WHERE id = 'likes/7'")
		if i%3 == 0 {
			a.answer("UPDATE likes SET doc = '{\"n\": 1}' WHERE id = 'likes/9'")
		}
	}
	a.want("SELECT key, collection FROM sherd.hot_keys ORDER BY reads DESC LIMIT 1", "likes/7|likes\nSELECT 1")
	a.want("SELECT key FROM sherd.hot_keys ORDER BY writes DESC LIMIT 1", "likes/9\nSELECT 1")
	a.want("SELECT bucket = sherd.bucket('likes/7') FROM sherd.hot_buckets ORDER BY reads DESC LIMIT 1", "t\nSELECT 1")
	a.want("SELECT bool_and(share BETWEEN 0 AND 1), sum(share) > 0.5 FROM sherd.hot_buckets", "t|t\nSELECT 1")
}
