package types

import "github.com/sherddb/sherd/internal/pgerr"

// money is not supported yet: its columns cannot be made, so no value reaches the output.

func parseMoney(string) (Datum, error) {
	return Null, pgerr.Unsupported("type money is not supported yet").WithHint("Use numeric.")
}

func appendMoney(dst []byte, n int64) []byte { return AppendNumeric(dst, NewNumeric(n, 2)) }
