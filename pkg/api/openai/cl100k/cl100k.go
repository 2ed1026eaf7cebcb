// Package cl100k decodes tokens in cl100k_base, the encoding of OpenAI's embedding models. LangChain and some other
// clients send such tokens instead of text, whichever model they name.
package cl100k

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the vocabulary
	"fmt"
	"io"
	"strings"
	"sync"
)

// Size is the number of tokens. Special tokens have higher numbers and never occur in text.
const Size = 100_256

// vocabulary holds the lengths of all tokens, one byte each, followed by the bytes of all tokens. "go run generate.go"
// in this directory writes it.
//
//go:embed vocabulary.gz
var vocabulary []byte

// table holds the bytes for token i in text[starts[i]:starts[i+1]].
type table struct {
	text   string
	starts []uint32
}

var load = sync.OnceValues(func() (table, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(vocabulary))
	if err != nil {
		return table{}, fmt.Errorf("reading the vocabulary: %w", err)
	}
	all, err := io.ReadAll(unpacked)
	if err != nil {
		return table{}, fmt.Errorf("reading the vocabulary: %w", err)
	}
	t := table{text: string(all[Size:]), starts: make([]uint32, Size+1)}
	for i, length := range all[:Size] {
		t.starts[i+1] = t.starts[i] + uint32(length)
	}
	return t, nil
})

// Decode returns the tokens' text. If the client has split the text in the middle of a character, Decode drops the
// incomplete character. It fails if a token doesn't exist.
func Decode(tokens []int) (string, error) {
	t, err := load()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for i, token := range tokens {
		if token < 0 || token >= Size {
			return "", fmt.Errorf("the token at index %d is %d; cl100k_base token ids range from 0 to %d", i, token, Size-1)
		}
		text.WriteString(t.text[t.starts[token]:t.starts[token+1]])
	}
	return strings.ToValidUTF8(text.String(), ""), nil
}
