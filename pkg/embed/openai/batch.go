package openai

import (
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/embed"
)

// batch is what one request carries.
type batch struct {
	texts  []string
	places []int // of each text in the caller's slice
}

// batches prefixes and cuts the texts and packs them in order, within the configured count and tokens. Blank texts are
// left out.
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
		text, size := cut(prefix+strings.ToValidUTF8(text, "\uFFFD"), e.config.MaxInputTokens)
		if len(current.texts) > 0 && (len(current.texts) == e.config.MaxBatch || tokens+size > e.config.MaxBatchTokens) {
			all = append(all, current)
			current, tokens = batch{}, 0
		}
		current.texts = append(current.texts, text)
		current.places = append(current.places, place)
		tokens += size
	}
	if len(current.texts) > 0 {
		all = append(all, current)
	}
	return all
}

// asciiPerToken is how many ASCII characters a token has at least on average: 4 is usual for English prose, 3 for
// source code. Other characters count as a token each, which holds for Chinese and is careful for the rest.
const asciiPerToken = 3

// cut returns the longest prefix of text of an estimated limit tokens at most, and its estimate, rounded up.
func cut(text string, limit int) (string, int) {
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

// halve returns the first half of text, cut between characters.
func halve(text string) string {
	end := len(text) / 2
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
