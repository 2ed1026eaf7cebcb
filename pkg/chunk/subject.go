package chunk

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// How far from a document's start to search for its parties.
const (
	subjectBlocks = 40
	subjectBytes  = 8 << 10
)

// Limits on the parties in a chunk's context.
const (
	maxParties      = 4
	maxPartyBytes   = 80
	maxSubjectBytes = 240
)

var (
	// defined matches a contract's short name for a party: (the “Supplier”).
	defined = lazyregexp.New(`\([^()“”"„«»]{0,60}[“"„«][^“”"„«»()]{1,50}[”"“»][^()]{0,80}\)`)
	// between matches the words before the first party.
	between = lazyregexp.New(`(?i)\b(?:between|among|zwischen|entre|tra|fra|tussen|pomiędzy|między|между)\b:?\s*`)
	// description matches the beginning of the text that follows a party's name, such as "(" or "with".
	description = lazyregexp.New(`\s+(?:\(|with\s|whose\s|having\s|mit\s)`)
	// legalForm matches a legal form, which is part of the name even after a comma.
	legalForm   = lazyregexp.New(`(?i)^(?:inc|llc|l\.l\.c|ltd|limited|l\.?p|llp|corp|corporation|co|company|plc|n\.a|s\.a|gmbh|ag|kg)\b`)
	conjunction = lazyregexp.New(`(?i)^[\s,;.]*(?:and|und|et|y|e|en|i|и)\s+`)
	longDate    = lazyregexp.New(`\p{Lu}\p{L}{2,9} \d{1,2}, ?\d{4}|\d{1,2}\.? \p{L}{3,10} \d{4}|\d{4}-\d{2}-\d{2}|\d{1,2}\.\d{1,2}\.\d{4}`)
	registrant  = lazyregexp.New(`(?i)\(?\s*exact name of (?:small business issuer|registrant|the registrant|company)\b`)
	fiscalYear  = lazyregexp.New(`(?i)(?:year|period) ended\s+(\p{L}{3,9} \d{1,2}, ?\d{4})`)
)

// subject returns a contract's parties and date, a filing's company and fiscal year end, or "" for other documents.
// Only the first page has them, but questions about any clause or figure mention them.
func subject(blocks []domain.Block) string {
	var names []string
	date, bytes := "", 0
	for i, b := range blocks[:min(len(blocks), subjectBlocks)] {
		if bytes += len(b.Text); bytes > subjectBytes {
			break
		}
		if b.Kind == domain.BlockCode || b.Kind == domain.BlockTableRow {
			continue
		}
		if m := fiscalYear().FindStringSubmatch(b.Text); m != nil && date == "" {
			date = m[1]
		}
		if at := registrant().FindStringIndex(b.Text); at != nil {
			name := strings.TrimSpace(b.Text[:at[0]])
			if name == "" && i > 0 {
				name = blocks[i-1].Text
			}
			if name = oneLine(name, 2*maxPartyBytes); name != "" && len(name) <= maxPartyBytes {
				names = []string{name}
				if date != "" {
					break
				}
			}
			continue
		}
		if len(names) == 0 {
			if names = parties(b.Text); names != nil {
				date = longDate().FindString(b.Text)
				break
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	if date != "" {
		names = append(names, date)
	}
	return oneLine(strings.Join(names, "; "), maxSubjectBytes)
}

// parties returns the names in a sentence such as "between Acme, Inc., a corporation (the “Supplier”), and Bolt LLC
// (the “Customer”)". It returns nil if there are fewer than two.
func parties(text string) []string {
	at := between().FindStringIndex(text)
	if at == nil {
		return nil
	}
	var names []string
	start := at[1]
	for _, m := range defined().FindAllStringIndex(text, 2*maxParties) {
		if m[0] < start {
			continue
		}
		name := strings.TrimLeft(conjunction().ReplaceAllString(text[start:m[0]], ""), " ,;.")
		start = m[1]
		name = withoutDescription(name)
		name = strings.Trim(oneLine(name, 2*maxPartyBytes), " ,;")
		first, _ := utf8.DecodeRuneInString(name)
		if name == "" || len(name) > maxPartyBytes || unicode.IsLower(first) || slices.Contains(names, name) {
			continue
		}
		if names = append(names, name); len(names) == maxParties {
			break
		}
	}
	if len(names) < 2 {
		return nil
	}
	return names
}

// withoutDescription returns just the name from a text such as "Acme, Inc., a corporation with its seat in Ghent".
func withoutDescription(text string) string {
	if cut := description().FindStringIndex(text); cut != nil {
		text = text[:cut[0]]
	}
	for from := 0; ; {
		comma := strings.IndexByte(text[from:], ',')
		if comma < 0 {
			return text
		}
		from += comma + 1
		if !legalForm().MatchString(strings.TrimLeft(text[from:], " ")) {
			return text[:from-1]
		}
	}
}
