package openai

import (
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/embed"
)

// batch holds the texts for one request.
type batch struct {
	texts   []string
	indexes []int // each text's index in the caller's slice
}

// batches splits the texts, in order, into batches within the limits on texts and tokens. It adds the purpose's prefix
// to each text, truncates the result to MaxInputTokens, and omits blank texts.
func (e *Embedder) batches(texts []string, purpose embed.Purpose) []batch {
	prefix := e.config.PassagePrefix
	if purpose == embed.Query {
		prefix = e.config.QueryPrefix
	}
	var all []batch
	var current batch
	tokens := 0
	for place, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		text, size := truncate(prefix+strings.ToValidUTF8(text, "\uFFFD"), e.config.MaxInputTokens)
		if len(current.texts) > 0 && (len(current.texts) == e.config.MaxBatch || tokens+size > e.config.MaxBatchTokens) {
			all = append(all, current)
			current, tokens = batch{}, 0
		}
		current.texts = append(current.texts, text)
		current.indexes = append(current.indexes, place)
		tokens += size
	}
	if len(current.texts) > 0 {
		all = append(all, current)
	}
	return all
}

// Conservative estimate of the ASCII characters per token: English prose usually has 4 and source code 3. Every
// non-ASCII character counts as one token, which is correct for Chinese and an overestimate for other scripts.
const asciiPerToken = 3

// truncate returns the longest prefix of the text that is estimated to have at most limit tokens, and the prefix's
// estimated number of tokens, rounded up.
func truncate(text string, limit int) (string, int) {
	thirds := 0
	for i, r := range text {
		cost := 1
		if r >= utf8.RuneSelf {
			cost = asciiPerToken
		}
		if thirds+cost > limit*asciiPerToken {
			return text[:i], (thirds + asciiPerToken - 1) / asciiPerToken
		}
		thirds += cost
	}
	return text, (thirds + asciiPerToken - 1) / asciiPerToken
}

// firstHalf returns the first half of text, cut at a character boundary.
func firstHalf(text string) string { return bounded.Prefix(text, len(text)/2) }
