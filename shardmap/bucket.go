package shardmap

import "github.com/cespare/xxhash/v2"

// BucketCount is the number of buckets that keys are hashed to, for ever.
const BucketCount = 1 << 20

// BucketLimit is above all numbers of buckets. Those from BucketCount on are assigned (assign.go):
// no key is hashed to them.
const BucketLimit = 1 << 23

// Bucket is a logical slot: 0 … BucketCount-1 are hashed to, BucketCount … BucketLimit-1 are
// assigned.
type Bucket uint32

// HashBucket returns the bucket of a whole text in which "$" means nothing: the folded text hashed
// by xxhash64, seed 0 (B1).
func HashBucket(key string) Bucket {
	if isLowerASCII(key) {
		return Bucket(xxhash.Sum64String(key) % BucketCount)
	}
	var buf [128]byte // folds typical ids without an allocation
	return Bucket(xxhash.Sum64(appendLower(buf[:0], key)) % BucketCount)
}

// BucketOf returns the bucket of a document's id, anchors respected, if there are no rules for
// prefixes. It refuses, with 22023 or 22021, what ParseID refuses and ids that ask for placement.
func BucketOf(id string) (Bucket, error) { return Prefixes(nil).BucketOf(id) }

// HashedBucketOf returns a bucket below BucketCount for any text, whatever prefix rules there are:
// the bucket of the id if no rule applied. An id that names a bucket of a rule gets some bucket. So
// does a text that is not an id of a collection: it is hashed whole. So intervals that cover [0,
// BucketCount) have every row of any table once.
func HashedBucketOf(id string) Bucket {
	b, err := anyAssigned.BucketOf(id)
	if err != nil {
		return HashBucket(id)
	}
	return b % BucketCount
}
