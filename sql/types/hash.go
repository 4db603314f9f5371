package types

import (
	"math"
	"math/big"

	"github.com/cespare/xxhash/v2"
	"github.com/sherddb/sherd/jsonb"
)

// Hash mixes a value into seed. Values that the type's = operator considers equal have equal
// hashes, also across int2/int4/int8 and float4/float8; the padding of bpchar does not count. The
// hash is for tables in memory and is never stored (buckets have their own, see AppendBucketText).
func Hash(oid OID, seed uint64, d Datum) uint64 {
	oid = BaseOf(oid)
	if oid == BPChar {
		return mix(seed, xxhash.Sum64String(trimBlanks(d.S)))
	}
	return hashKind(seed, &d)
}

const nullHash = 0x9e3779b97f4a7c15

func mix(seed, h uint64) uint64 {
	x := seed ^ h
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

func hashKind(seed uint64, d *Datum) uint64 {
	switch d.K {
	case KindNull, KindVoid:
		return mix(seed, nullHash)
	case KindText, KindBytes, KindUUID, KindJSONPath, KindEnum:
		return mix(seed, xxhash.Sum64String(d.S))
	case KindFloat4, KindFloat8:
		return mix(seed, hashFloat(d.Float()))
	case KindNumeric:
		return mix(seed, hashNumeric(d))
	case KindTimeTZ:
		return mix(mix(seed, uint64(d.N+int64(d.A)*usPerSecond)), uint64(d.A))
	case KindInterval:
		hi, lo := intervalSpan(d)
		return mix(mix(seed, uint64(hi)), lo)
	case KindJSONB:
		return mix(seed, jsonb.Doc(d.S).Hash())
	case KindArray:
		return hashArray(seed, d)
	case KindRecord:
		return hashRecord(seed, d)
	case KindBit:
		return mix(mix(seed, uint64(d.A)), xxhash.Sum64String(d.S))
	}
	return mix(seed, uint64(d.N))
}

func hashFloat(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}

// hashNumeric hashes the coefficient without trailing zeros and the remaining scale.
func hashNumeric(d *Datum) uint64 {
	if d.S != "" {
		if d.special() {
			return uint64(d.S[0])
		}
		return hashBigNumeric(d)
	}
	n, scale := d.N, d.A
	if n == 0 {
		return 0
	}
	for n%10 == 0 {
		n /= 10
		scale--
	}
	return mix(uint64(n), uint64(int64(scale)))
}

func hashBigNumeric(d *Datum) uint64 {
	c := d.coefficient(new(big.Int))
	q, r := new(big.Int), new(big.Int)
	scale := d.A
	for {
		q.QuoRem(c, bigTen, r)
		if r.Sign() != 0 {
			break
		}
		c.Set(q)
		scale--
	}
	if c.IsInt64() {
		return mix(uint64(c.Int64()), uint64(int64(scale)))
	}
	h := xxhash.Sum64(c.Bytes())
	if c.Sign() < 0 {
		h = ^h
	}
	return mix(h, uint64(int64(scale)))
}
