package jsonbody

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// Vector returns the vector in a parsed field: an array of numbers, or a base64 string of little-endian 32-bit floats.
// `format` is "float" or "base64" if only that encoding is allowed, and "" for both. If decoding fails, `fault` says
// why; it is empty for values that the schema rejects anyway.
func Vector(value any, format string) (vector []float32, fault string) {
	switch v := value.(type) {
	case string:
		if format == "float" {
			return nil, "is a string, but encoding_format is float; send an array of numbers, or encoding_format base64"
		}
		raw, err := base64.StdEncoding.DecodeString(v)
		switch {
		case err != nil:
			return nil, fmt.Sprintf("is not base64 (%v); send 32-bit little-endian floats in base64, or an array of numbers", err)
		case len(raw)%4 != 0:
			return nil, fmt.Sprintf("decodes to %d bytes, which is not a multiple of 4; send 32-bit little-endian floats", len(raw))
		}
		vector = make([]float32, len(raw)/4)
		for i := range vector {
			vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case []any:
		if format == "base64" {
			return nil, "is an array, but encoding_format is base64; send a string, or encoding_format float"
		}
		vector = make([]float32, len(v))
		for i, x := range v {
			n, isNumber := x.(float64)
			if !isNumber {
				return nil, "" // the schema reports it
			}
			vector[i] = float32(n)
		}
	}
	return vector, ""
}
