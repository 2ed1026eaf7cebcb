package db

import (
	"encoding/json"
	"fmt"
	"time"
)

// Times are stored as microseconds since 1970, because both engines sort and compare numbers the same way.

// Micros converts a time to its stored form.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// FromMicros converts a time from its stored form.
func FromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// Stored rounds a time to the precision of stored times and converts it to UTC. It returns nil if t is nil.
func Stored(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := FromMicros(Micros(*t))
	return &at
}

// Flag converts a bool to its stored form.
func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ToJSON encodes a value. It fails for values that JSON cannot represent, such as NaN.
func ToJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding %T: %w", v, err)
	}
	return string(b), nil
}

// FromJSON decodes a stored value. If the text is "", the variable is left unchanged.
func FromJSON(text string, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("decoding %T: %w", into, err)
	}
	return nil
}
