package shardmap

import "github.com/cespare/xxhash/v2"

// BucketCount is the number of buckets that keys are hashed to, for ever.
const BucketCount = 1 << 20

// BucketLimit is above all numbers of buckets. Those from BucketCount on are assigned (assign.go): no key is hashed to them.
const BucketLimit = 1 << 23

// Bucket is a logical slot: 0 … BucketCount-1 are hashed to, BucketCount … BucketLimit-1 are assigned.
type Bucket uint32

// HashBucket gives the bucket of a whole text in which "$" means nothing: the folded text hashed by xxhash64, seed 0 (B1).
func HashBucket(key string) Bucket {
	if isLowerASCII(key) {
		return Bucket(xxhash.Sum64String(key) % BucketCount)
	}
	var buf [128]byte // folds typical ids without an allocation
	return Bucket(xxhash.Sum64(appendLower(buf[:0], key)) % BucketCount)
}

// BucketOf gives the bucket of a document's id, anchors respected, where there are no rules for prefixes. It refuses, with 22023 or 22021, what ParseID refuses
// and ids that ask for placement.
func BucketOf(id string) (Bucket, error) { return Prefixes(nil).BucketOf(id) }

// HashedBucketOf gives a bucket of those that are hashed to for any id, whatever rules for prefixes there are: the one that it lies in where no rule applies. Of one
// that names a bucket of a rule it is some. So intervals that cover [0, BucketCount) have every document once.
func HashedBucketOf(id string) (Bucket, error) {
	b, err := anyAssigned.BucketOf(id)
	return b % BucketCount, err
}
