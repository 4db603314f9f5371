// Package scramsecret makes and reads what the server keeps of a password: PostgreSQL's verifier
// for SCRAM-SHA-256,
//
//	SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>
//
// with salt and keys in base64, as pg_authid.rolpassword holds it. The exchange itself is
// xdg-go/scram's.
package scramsecret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdg-go/scram"
)

const (
	prefix     = "SCRAM-SHA-256$"
	iterations = 4096 // PostgreSQL 15's scram_iterations
	saltSize   = 16
)

// Make returns the verifier of a password with a fresh salt.
func Make(password string) (string, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // does not fail
	return derive(password, string(salt))
}

func derive(password, salt string) (string, error) {
	client, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		// The password is no string that SASLprep allows; PostgreSQL takes its bytes then.
		if client, err = scram.SHA256.NewClientUnprepped("", password, ""); err != nil {
			return "", err
		}
	}
	c, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: salt, Iters: iterations})
	if err != nil {
		return "", err
	}
	return format(c), nil
}

func format(c scram.StoredCredentials) string {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s%d:%s$%s:%s", prefix, c.Iters, b64([]byte(c.Salt)), b64(c.StoredKey), b64(c.ServerKey))
}

// Is reports whether s is a verifier already, as CREATE ROLE … PASSWORD takes it.
func Is(s string) bool {
	_, err := Parse(s)
	return err == nil
}

// Parse reads a verifier.
func Parse(verifier string) (scram.StoredCredentials, error) {
	var c scram.StoredCredentials
	rest, ok := strings.CutPrefix(verifier, prefix)
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == ':' || r == '$' })
	if !ok || len(parts) != 4 {
		return c, fmt.Errorf("scramsecret: not a SCRAM-SHA-256 verifier")
	}
	n, err := strconv.Atoi(parts[0])
	if err != nil || n < 1 {
		return c, fmt.Errorf("scramsecret: iteration count %q", parts[0])
	}
	var raw [3][]byte
	for i, part := range parts[1:] {
		if raw[i], err = base64.StdEncoding.DecodeString(part); err != nil {
			return c, fmt.Errorf("scramsecret: %w", err)
		}
	}
	if len(raw[1]) != sha256.Size || len(raw[2]) != sha256.Size {
		return c, fmt.Errorf("scramsecret: keys of %d and %d bytes", len(raw[1]), len(raw[2]))
	}
	c.Iters, c.Salt, c.StoredKey, c.ServerKey = n, string(raw[0]), raw[1], raw[2]
	return c, nil
}

// Mock returns credentials that no password matches, the same each time for a name, so that a role
// that does not exist looks like one that does. The nonce is the server's secret.
func Mock(nonce []byte, name string) scram.StoredCredentials {
	part := func(label string) []byte {
		h := hmac.New(sha256.New, nonce)
		h.Write([]byte(label + "\x00" + name))
		return h.Sum(nil)
	}
	c := scram.StoredCredentials{StoredKey: part("stored"), ServerKey: part("server")}
	c.Iters, c.Salt = iterations, string(part("salt")[:saltSize])
	return c
}

// Matches reports whether a verifier is that of a password.
func Matches(verifier, password string) bool {
	c, err := Parse(verifier)
	if err != nil {
		return false
	}
	own, err := derive(password, c.Salt)
	return err == nil && c.Iters == iterations && subtle.ConstantTimeCompare([]byte(own), []byte(verifier)) == 1
}
