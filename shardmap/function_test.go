package shardmap

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// TestNumericAgainstBig compares the digit-wise remainder with exact arithmetic.
func TestNumericAgainstBig(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	modulus := big.NewInt(BucketCount)
	for range 5000 {
		text := fmt.Sprintf(
			"%s%d.%de%d", []string{"", "-", "+"}[rng.IntN(3)], rng.Uint64()>>rng.IntN(64), rng.Uint32(),
			rng.IntN(60)-30,
		)
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		want := new(big.Int).Quo(r.Num(), r.Denom()) // towards zero
		want.Mod(want, modulus)                      // Euclidean
		if got, err := numericMod(text); err != nil || got != want.Int64() {
			t.Errorf("numeric(%s) = %d, %v; want %v", text, got, err, want)
		}
	}
}

// TestTimeAgainstLibrary compares the calendar with package time, whose years may be negative too.
func TestTimeAgainstLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		when := time.Date(
			1+rng.IntN(9999), 1, 1+rng.IntN(366), rng.IntN(24), rng.IntN(60), rng.IntN(60), 100*rng.IntN(1e7),
			time.FixedZone("", 60*(rng.IntN(28*60)-14*60)),
		)
		got, err := parseInstant(when.Format("2006-01-02T15:04:05.0000000-07:00"))
		utc := when.UTC()
		want := instant{
			seconds: utc.Unix() + 719162*secondsPerDay, ticks: int64(utc.Nanosecond() / 100),
			month: int64((utc.Year()-1)*12 + int(utc.Month()) - 1),
		}
		if when.Year() > 9999 {
			continue
		}
		if err != nil || got != want {
			t.Fatalf("%v: %+v, %v; want %+v", when, got, err, want)
		}
	}
}
