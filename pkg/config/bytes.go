package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Bytes is a number of bytes, written as an integer with an optional unit: 100MB, 512KiB, 1G. It implements flag.Value.
type Bytes int64

// sizeForms describes the accepted size formats, for error messages.
const sizeForms = "write a whole number of bytes or one with a unit, such as 100MB (10^6), 512KiB (2^10) or 1G (10^9)"

// Largest accepted size. The sum of two smaller sizes does not overflow an int64.
const maxBytes = 1 << 62

// units maps each accepted unit, in lower case, to its size in bytes. As in most Go programs, MB is 1,000,000 bytes and
// MiB is 1,048,576.
var units = map[string]int64{
	"": 1, "b": 1,
	"k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
	"ki": 1 << 10, "kib": 1 << 10, "mi": 1 << 20, "mib": 1 << 20, "gi": 1 << 30, "gib": 1 << 30, "ti": 1 << 40, "tib": 1 << 40,
}

// ParseBytes parses a size. The unit may be in upper or lower case, and a space may precede it.
func ParseBytes(v string) (Bytes, error) {
	v = strings.TrimSpace(v)
	end := strings.IndexFunc(v, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(v)
	}
	unit, known := units[strings.ToLower(strings.TrimSpace(v[end:]))]
	switch {
	case strings.HasPrefix(v, "-"):
		return 0, errors.New("must not be negative: " + sizeForms)
	case end == 0 || !known:
		return 0, errors.New("must be a size: " + sizeForms)
	}
	n, err := strconv.ParseInt(v[:end], 10, 64)
	if err != nil || n > maxBytes/unit {
		return 0, fmt.Errorf("is too large: the maximum is %s", Bytes(maxBytes))
	}
	return Bytes(n * unit), nil
}

// String formats the size with the largest unit that doesn't need a fraction.
func (b Bytes) String() string {
	for _, u := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if n := int64(b); n != 0 && n%units[strings.ToLower(u)] == 0 {
			return strconv.FormatInt(n/units[strings.ToLower(u)], 10) + u
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// Set implements flag.Value.
func (b *Bytes) Set(v string) (err error) {
	*b, err = ParseBytes(v)
	return err
}

// Type returns the placeholder for the value in help texts.
func (b *Bytes) Type() string { return "size" }
