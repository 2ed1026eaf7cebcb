package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// vector is an embedding. In JSON, it is an array of numbers or a base64 string of little-endian float32 values.
type vector []float32

// UnmarshalJSON implements json.Unmarshaler.
func (v *vector) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		if numbers, ok := numbersOf(data); ok {
			*v = numbers
			return nil
		}
		return json.Unmarshal(data, (*[]float32)(v))
	}
	var encoded string
	if err := json.Unmarshal(data, &encoded); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	if len(raw)%4 != 0 {
		return fmt.Errorf("%d bytes of base64 do not encode float32 numbers", len(raw))
	}
	*v = make(vector, len(raw)/4)
	for i := range *v {
		(*v)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}

// numbersOf is a fast parser for an array of numbers in valid JSON. It returns false if the array contains anything
// else.
func numbersOf(data []byte) ([]float32, bool) {
	if len(data) < 2 || data[0] != '[' {
		return nil, false
	}
	data = bytes.TrimSpace(data[1 : len(data)-1])
	if len(data) == 0 {
		return nil, false
	}
	numbers := make([]float32, 0, bytes.Count(data, []byte{','})+1)
	for more := true; more; {
		var one []byte
		one, data, more = bytes.Cut(data, []byte{','})
		x, err := strconv.ParseFloat(string(bytes.TrimSpace(one)), 32)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, float32(x))
	}
	return numbers, true
}

// decode returns the response's vectors, scaled to unit length, in the request's order. It fails unless there are
// exactly want vectors, which must have distinct indexes, the same length from 1 to maxDimensions, and only finite
// numbers.
func decode(body []byte, want int) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     *int   `json:"index"`
			Embedding vector `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	if len(answer.Data) != want {
		return nil, fmt.Errorf("the response has %d vectors for %d texts", len(answer.Data), want)
	}
	vectors := make([][]float32, want)
	for position, item := range answer.Data {
		index := position
		if item.Index != nil {
			index = *item.Index
		}
		if index < 0 || index >= want || vectors[index] != nil {
			return nil, fmt.Errorf("index %d is repeated or out of range", index)
		}
		if n := len(item.Embedding); n == 0 || n > maxDimensions || n != len(answer.Data[0].Embedding) {
			return nil, fmt.Errorf("vector %d has %d dimensions, but the first has %d", index, n, len(answer.Data[0].Embedding))
		}
		if err := normalise(item.Embedding); err != nil {
			return nil, fmt.Errorf("vector %d: %w", index, err)
		}
		vectors[index] = item.Embedding
	}
	return vectors, nil
}

// normalise scales v to unit length in place. A zero vector stays zero.
func normalise(v []float32) error {
	var squares float64
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	if math.IsNaN(squares) || math.IsInf(squares, 0) {
		return errors.New("it contains a number that is not finite")
	}
	if squares == 0 {
		return nil
	}
	scale := 1 / math.Sqrt(squares)
	for i := range v {
		v[i] = float32(float64(v[i]) * scale)
	}
	return nil
}
