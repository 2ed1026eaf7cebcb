package transformer

import (
	"errors"
	"fmt"
	"slices"
)

// pairTemplate describes how the tokens of a query and a passage form a cross-encoder's input.
type pairTemplate struct {
	start, middle, end []int32 // special tokens before the query, between query and passage, and after the passage
	typed              bool    // the passage and the special tokens after it have token type 1 instead of 0
}

// special returns the number of special tokens per pair.
func (p *pairTemplate) special() int { return len(p.start) + len(p.middle) + len(p.end) }

// pair is a cross-encoder's input.
type pair struct {
	tokens  []int32
	passage int // index of the passage's first token
}

// join returns the tokens of a query and a passage with the special tokens, at most limit in total. It drops tokens
// from the end of the longer text until both texts are equally long, and then from both (longest_first in the
// tokenizers library). Two texts with more than 2*limit tokens count as equally long.
func (p *pairTemplate) join(query, passage []int32, limit int) pair {
	short, long := len(query), len(passage)
	swapped := short > long
	if swapped {
		short, long = long, short
	}
	if limit -= p.special(); short+long > limit {
		if long = max(short, limit-short); short+long > limit {
			short, long = limit/2, limit-limit/2
		}
	}
	if swapped {
		short, long = long, short
	}
	first := len(p.start) + short + len(p.middle)
	return pair{slices.Concat(p.start, query[:short], p.middle, passage[:long], p.end), first}
}

// parts returns a query's or passage's tokens for join, without special tokens.
func (t *tokenizer) parts(text string, limit int) []int32 {
	return t.segmenter.appendTokens(nil, text, 2*limit)
}

// pairTemplate returns the template for pairs. All ids must be less than `words`, the size of the model's vocabulary.
func (t *tokenizer) pairTemplate(words int) (*pairTemplate, error) {
	if t.processor == nil { // vocab.txt
		return &pairTemplate{t.before, t.after, t.after, true}, nil
	}
	var file struct {
		Type   string     `json:"type"`
		Pair   []pairPart `json:"pair"`
		Tokens map[string]struct {
			IDs []int32 `json:"ids"`
		} `json:"special_tokens"`
	}
	if err := decode(t.processor, &file); err != nil {
		return nil, fmt.Errorf("reading the post_processor: %w", err)
	}
	p := &pairTemplate{}
	switch file.Type {
	case "BertProcessing":
		p = &pairTemplate{t.before, t.after, t.after, true}
	case "RobertaProcessing":
		p = &pairTemplate{t.before, slices.Concat(t.after, t.after), t.after, false}
	case "TemplateProcessing":
		texts := ""
		to := []*[]int32{&p.start, &p.middle, &p.end}
		for _, part := range file.Pair {
			kind := 0
			if part.Text != nil {
				texts, kind = texts+part.Text.ID, part.Text.Kind
				p.typed = p.typed || part.Text.ID == "B" && kind == 1
			} else if part.Special != nil {
				kind = part.Special.Kind
				into := to[min(len(texts), 2)]
				*into = append(*into, file.Tokens[part.Special.ID].IDs...)
			}
			if kind < 0 || kind > 1 || (kind == 1) != (p.typed && len(texts) == 2) {
				return nil, errors.New("the post_processor's template for pairs must assign token type 0 to every token, or type 1 from the second text on and type 0 before it")
			}
		}
		if texts != "AB" {
			return nil, errors.New("the post_processor's template for pairs must contain the first text once, and then the second text once")
		}
	}
	if p.special() > maxSpecial {
		return nil, fmt.Errorf("the post_processor adds %d tokens to a pair; the limit is %d", p.special(), maxSpecial)
	}
	for _, id := range slices.Concat(p.start, p.middle, p.end) {
		if id < 0 || int(id) >= words {
			return nil, fmt.Errorf("the post_processor adds the token %d to a pair, but the vocab_size of config.json is %d", id, words)
		}
	}
	return p, nil
}

// pairPart is an element of a pair template: a text or a special token.
type pairPart struct {
	Text    *typedPart `json:"Sequence"`
	Special *typedPart `json:"SpecialToken"`
}

type typedPart struct {
	ID   string `json:"id"`
	Kind int    `json:"type_id"`
}
