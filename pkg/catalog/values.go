package catalog

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Times are kept as microseconds since 1970: both engines sort and compare them as plain numbers.

func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

func nullMicros(t *time.Time) sql.NullInt64 {
	if t == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: true}
}

func fromNullMicros(v sql.NullInt64) *time.Time {
	if !v.Valid {
		return nil
	}
	t := fromMicros(v.Int64)
	return &t
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// toJSON encodes a value of the domain. What cannot be encoded, a caller's NaN, is a fault of the request.
func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding %T: %w", v, err)
	}
	return string(b), nil
}

func fromJSON(text string, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("decoding %T: %w", into, err)
	}
	return nil
}
