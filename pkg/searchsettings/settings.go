// Package searchsettings holds the settings that control searches in a datastore: synonyms, stop words, boosts and
// pinned documents. See docs/retrieval.md. Settings are stored as JSON in numbered versions and compiled on demand.
package searchsettings

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/boost"
	"github.com/sluice/sluice/pkg/domain"
)

// Limits on a datastore's settings.
const (
	MaxBytes         = 256 << 10 // all settings as JSON
	MaxSynonyms      = 5000      // rules
	MaxRuleTexts     = 30        // words and phrases per rule
	MaxTextBytes     = 200       // per word, phrase or pin query
	MaxTextWords     = 10        // per word or phrase
	MaxStopWords     = 1000      // words to drop, and words to keep
	MaxPins          = 1000
	MaxPinDocuments  = 20 // per pin, both for documents to show and for documents to block
	MaxVersions      = 20 // kept versions
	maxReportedFault = 20
)

// Settings control searches in a datastore.
type Settings struct {
	// Synonyms are rules in Solr's format, such as "car, automobile" or "laptop => notebook, portable computer".
	Synonyms []string `json:"synonyms"`
	// StopWords are left out of queries, in addition to the language's function words.
	StopWords []string `json:"stopWords"`
	// KeepWords are function words that stay in queries.
	KeepWords []string `json:"keepWords"`
	// Boosts apply to every query that has no boosts of its own.
	Boosts json.RawMessage `json:"boosts"`
	Pins   []Pin           `json:"pins"`
}

// Match says how a query must match a pin's query for the pin to apply.
type Match string

// Ways to compare a query with a pin's query. Case, diacritics and punctuation do not matter.
const (
	Exact    Match = "exact"    // the same words in the same order
	Contains Match = "contains" // the pin's words, adjacent and in order, possibly among others
)

// Pin puts documents first or hides them for some queries.
type Pin struct {
	Query     string     `json:"query"`
	Match     Match      `json:"match"`
	Documents []Document `json:"documents"` // shown first, in this order
	Block     []Document `json:"block"`     // hidden
}

// Document identifies a datasource by its id or its custom id.
type Document struct {
	DatasourceID string `json:"datasourceId,omitempty"`
	CustomID     string `json:"customId,omitempty"`
	Chunk        *int   `json:"chunk,omitempty"` // number of the chunk to show, from 0; nil: the best chunk
}

// Version is a stored version of the settings.
type Version struct {
	Number    int64
	CreatedAt time.Time
}

// Parse reads settings from JSON that has passed the API's schema. Missing fields are empty.
func Parse(data []byte) (Settings, []domain.FieldError) {
	var s Settings
	if err := json.Unmarshal(data, &s); err != nil {
		return s, []domain.FieldError{{Field: "body", Message: fmt.Sprintf("cannot be read: %v", err)}}
	}
	s = s.normal()
	if faults := s.Check(); len(faults) > 0 {
		return s, faults
	}
	boosts, _ := boost.ParseJSON(s.Boosts, "boosts")
	if data, err := json.Marshal(boosts); err == nil { // with all defaults
		s.Boosts = data
	}
	return s, nil
}

// normal returns the settings with defaults filled in. Lists that are nil become empty lists.
func (s Settings) normal() Settings {
	s.Synonyms, s.StopWords, s.KeepWords = append([]string{}, s.Synonyms...), append([]string{}, s.StopWords...), append([]string{}, s.KeepWords...)
	s.Pins = append([]Pin{}, s.Pins...)
	for i, p := range s.Pins {
		if p.Match == "" {
			p.Match = Exact
		}
		p.Documents, p.Block = append([]Document{}, p.Documents...), append([]Document{}, p.Block...)
		s.Pins[i] = p
	}
	if len(s.Boosts) == 0 || string(s.Boosts) == "null" {
		s.Boosts = json.RawMessage("[]")
	}
	return s
}

// Empty returns settings that change nothing.
func Empty() Settings { return Settings{}.normal() }

// Encode returns the settings as JSON that Parse can read.
func (s Settings) Encode() ([]byte, error) {
	data, err := json.Marshal(s.normal())
	if err != nil {
		return nil, fmt.Errorf("encoding search settings: %w", err)
	}
	if len(data) > MaxBytes {
		return nil, domain.Errorf(domain.CodeTooLarge, "the settings are %d bytes long as JSON; the limit is %d; remove some rules", len(data), MaxBytes)
	}
	return data, nil
}

// Check returns the errors in the settings.
func (s Settings) Check() []domain.FieldError {
	c := &checker{}
	c.count("synonyms", len(s.Synonyms), MaxSynonyms)
	for i, line := range s.Synonyms {
		if c.full() {
			break
		}
		if _, err := ParseRule(line); err != nil {
			c.fault(fmt.Sprintf("synonyms[%d]", i), "%s", err.Error())
		}
	}
	c.words("stopWords", s.StopWords)
	c.words("keepWords", s.KeepWords)
	for i, w := range s.KeepWords {
		if slices.ContainsFunc(s.StopWords, func(stop string) bool { return strings.EqualFold(stop, w) }) {
			c.fault(fmt.Sprintf("keepWords[%d]", i), "is %q, which is also in stopWords; remove it from one of the lists", w)
		}
	}
	_, faults := boost.ParseJSON(s.Boosts, "boosts")
	c.faults = append(c.faults, faults...)
	c.count("pins", len(s.Pins), MaxPins)
	for i, p := range s.Pins {
		if c.full() {
			break
		}
		c.pin(fmt.Sprintf("pins[%d]", i), p)
	}
	return c.faults
}

type checker struct{ faults []domain.FieldError }

func (c *checker) full() bool { return len(c.faults) >= maxReportedFault }

func (c *checker) fault(field, format string, args ...any) {
	if !c.full() {
		c.faults = append(c.faults, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) count(field string, n, limit int) {
	if n > limit {
		c.fault(field, "has %d entries; the limit is %d", n, limit)
	}
}

func (c *checker) words(field string, words []string) {
	c.count(field, len(words), MaxStopWords)
	for i, w := range words {
		at := fmt.Sprintf("%s[%d]", field, i)
		if err := checkText(w); err != nil {
			c.fault(at, "%s", err.Error())
		} else if _, single := analysis.Word(w); !single {
			c.fault(at, "is %q; it must be a single word", w)
		}
	}
}

func (c *checker) pin(field string, p Pin) {
	if err := checkText(p.Query); err != nil {
		c.fault(field+".query", "%s", err.Error())
	}
	if p.Match != Exact && p.Match != Contains {
		c.fault(field+".match", "is %q; it must be exact or contains", p.Match)
	}
	if len(p.Documents) == 0 && len(p.Block) == 0 {
		c.fault(field+".documents", "is empty; list the documents to show first, or put those to hide in block")
	}
	for name, documents := range map[string][]Document{field + ".documents": p.Documents, field + ".block": p.Block} {
		c.count(name, len(documents), MaxPinDocuments)
		for i, d := range documents {
			at := fmt.Sprintf("%s[%d]", name, i)
			switch {
			case (d.DatasourceID == "") == (d.CustomID == ""):
				c.fault(at, "must have either datasourceId or customId")
			case len(d.DatasourceID) > MaxTextBytes || len(d.CustomID) > MaxTextBytes:
				c.fault(at, "has an id of more than %d bytes", MaxTextBytes)
			case d.Chunk != nil && *d.Chunk < 0:
				c.fault(at+".chunk", "is %d; it must be a chunk number, 0 or greater", *d.Chunk)
			case d.Chunk != nil && strings.HasSuffix(name, ".block"):
				c.fault(at+".chunk", "cannot be set in block, which hides whole documents")
			}
		}
	}
}

// checkText returns an error if a word or phrase is empty or too long.
func checkText(text string) error {
	switch n := analysis.Words(text, MaxTextWords); {
	case len(text) > MaxTextBytes:
		return fmt.Errorf("has %d bytes; the limit is %d", len(text), MaxTextBytes)
	case n == 0:
		return fmt.Errorf("is %q, which contains no words", text)
	case n > MaxTextWords:
		return fmt.Errorf("has more than %d words", MaxTextWords)
	}
	return nil
}

// Compiled holds settings in the form used by queries. It is immutable.
type Compiled struct {
	Rules  *analysis.Rules // nil: neither synonyms nor stop words
	Boosts []boost.Boost
	pins   []compiledPin
}

type compiledPin struct {
	words string // analysis.Folded, with a space on both sides
	Pin
}

// Compile compiles valid settings.
func (s Settings) Compile() (*Compiled, error) {
	out := &Compiled{}
	var synonyms []analysis.Synonym
	for _, line := range s.Synonyms {
		rule, err := ParseRule(line)
		if err != nil {
			return nil, fmt.Errorf("reading the synonyms %q: %w", line, err)
		}
		synonyms = append(synonyms, rule.Synonyms()...)
	}
	if len(synonyms) > 0 || len(s.StopWords) > 0 || len(s.KeepWords) > 0 {
		out.Rules = analysis.NewRules(synonyms, s.StopWords, s.KeepWords)
	}
	var faults []domain.FieldError
	if out.Boosts, faults = boost.ParseJSON(s.Boosts, "boosts"); len(faults) > 0 {
		return nil, errors.New("reading the boosts: " + faults[0].Field + " " + faults[0].Message)
	}
	for _, p := range s.Pins {
		out.pins = append(out.pins, compiledPin{" " + analysis.Folded(p.Query) + " ", p})
	}
	return out, nil
}

// Pinned returns the documents that pins put first for the given queries, in the order in which to show them. It also
// returns the documents that pins hide. If no pin matches, Pinned returns nil, nil. c may be nil.
func (c *Compiled) Pinned(queries ...string) (first, blocked []Document) {
	if c == nil || len(c.pins) == 0 {
		return nil, nil
	}
	var folded []string
	for _, q := range queries {
		folded = append(folded, " "+analysis.Folded(q)+" ")
	}
	for _, p := range c.pins {
		matches := slices.ContainsFunc(folded, func(q string) bool {
			return q == p.words || p.Match == Contains && strings.Contains(q, p.words)
		})
		if matches {
			first, blocked = append(first, p.Documents...), append(blocked, p.Block...)
		}
	}
	return first, blocked
}
