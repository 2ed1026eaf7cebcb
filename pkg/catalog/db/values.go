package db

import (
	"encoding/json"
	"fmt"
	"time"
)

// Times are kept as microseconds since 1970: both engines sort and compare them as plain numbers.

// Micros is a time as it is stored.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// FromMicros is a time that was stored.
func FromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// Stored is a time that may be missing, as it is when it has been stored and read.
func Stored(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := FromMicros(Micros(*t))
	return &at
}

// Flag is a bool as it is stored.
func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ToJSON encodes a value of the domain. A value that cannot be encoded, a caller's NaN, is a fault of the request.
func ToJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding %T: %w", v, err)
	}
	return string(b), nil
}

// FromJSON decodes a stored value; "" leaves it as it is.
func FromJSON(text string, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("decoding %T: %w", into, err)
	}
	return nil
}
