package searchsettings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/analysis"
)

// Rule is a synonym rule: a query that contains one of the phrases in From also finds rows with one of the phrases in
// To. If To is nil, the phrases in From are synonyms of each other.
type Rule struct{ From, To []string }

// arrow separates the two sides of a one-way rule.
const arrow = "=>"

// ParseRule reads a rule in Solr's format. The rule "a, b" makes a and b synonyms of each other. The rule "a => b, c"
// works only in one direction: queries that contain a also find b and c. A backslash escapes the next character.
func ParseRule(line string) (Rule, error) {
	sides, err := splitRule(line)
	switch {
	case err != nil:
		return Rule{}, err
	case len(sides) > 2:
		return Rule{}, errors.New("has more than one =>; write one rule per line")
	case len(sides) == 2 && (len(sides[0]) == 0 || len(sides[1]) == 0):
		return Rule{}, errors.New("has no text on one side of =>; write, for example, laptop => notebook")
	case len(sides) == 1 && len(sides[0]) < 2:
		return Rule{}, errors.New("has fewer than two terms; write, for example, car, automobile")
	}
	rule := Rule{From: sides[0]}
	if len(sides) == 2 {
		rule.To = sides[1]
	}
	if n := len(rule.From) + len(rule.To); n > MaxRuleTexts {
		return rule, fmt.Errorf("has %d words and phrases; the limit is %d", n, MaxRuleTexts)
	}
	for _, text := range slices.Concat(rule.From, rule.To) {
		if err := checkText(text); err != nil {
			return rule, fmt.Errorf("has the text %.60q, which %w", text, err)
		}
	}
	return rule, nil
}

// splitRule splits a rule at each "=>" and returns each side's phrases, without empty ones.
func splitRule(line string) (sides [][]string, err error) {
	var texts []string
	var text strings.Builder
	add := func() {
		if t := strings.Join(strings.Fields(text.String()), " "); t != "" {
			texts = append(texts, t)
		}
		text.Reset()
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\n' || c == '\r' || c == 0:
			return nil, errors.New("has a line break; send each rule as a separate string")
		case c == '\\' && i+1 < len(line):
			i++
			text.WriteByte(line[i])
		case c == ',':
			add()
		case strings.HasPrefix(line[i:], arrow):
			add()
			sides, texts = append(sides, texts), nil
			i += len(arrow) - 1
		default:
			text.WriteByte(c)
		}
	}
	add()
	return append(sides, texts), nil
}

// Synonyms converts the rule to package analysis's synonyms, one for each phrase in From.
func (r Rule) Synonyms() []analysis.Synonym {
	var out []analysis.Synonym
	for i, from := range r.From {
		to := r.To
		if to == nil {
			to = slices.Delete(slices.Clone(r.From), i, i+1)
		}
		out = append(out, analysis.Synonym{From: from, To: to})
	}
	return out
}
