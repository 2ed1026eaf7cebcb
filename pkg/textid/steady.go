package textid

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// RemoveVolatile examines at most the first maxLine bytes of each line, to bound the regular expressions' running time.
const maxLine = 2_000

// Parts of the regular expressions below, which are applied to lower-case text.
const (
	months   = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez|janv|févr|mars|avr|juin|juil|août|déc|ene|abr|ago|dic)\pL*\.?`
	weekdays = `(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?`
	zone     = `(?:z|utc|gmt|c?est|cet|edt|cst|cdt|mst|mdt|pst|pdt|uhr|[+-]\d{2}:?\d{2})`
	clock    = `\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]\.?m\.?)?(?: ?\(?` + zone + `\b\)?){0,2}`
	exact    = `\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?: ?[ap]\.?m\.?)?(?: ?\(?` + zone + `\b\)?){0,2}`
	date     = `(?:` + weekdays + ` )?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}(?:st|nd|rd|th|\.)? (?:of )?` + months +
		`(?:,? \d{4})?|` + months + ` +\d{1,2}(?:st|nd|rd|th)?(?:,? \d{4}\b)?)`
	dateTimeSeparator = `(?:,? (?:at |um |à |- )?|t)`
	epoch             = `1\d{9}(?:\d{3})?(?:\.\d+)?`
	// second matches a date with a time of day, a time of day with seconds, or a Unix time.
	second = `(?:` + date + dateTimeSeparator + clock + `|` + clock + `,? (?:on )?` + date + `|` + weekdays + ` ` + months + ` +\d{1,2} ` + exact + ` \d{4}|` + exact + `|` + epoch + `)`
	// instant matches the same as second, except that a time of day after a date must include seconds.
	instant   = `(?:` + date + dateTimeSeparator + exact + `|` + exact + `(?:,? (?:on )?` + date + `)?|` + weekdays + ` ` + months + ` +\d{1,2} ` + exact + ` \d{4}|` + epoch + `)`
	moment    = `(?:` + second + `|` + date + `|` + clock + `)`
	wordEnd   = `(?:\b|$)`
	connector = `(?: (?:on|at|am|um|le|el|à))*[:=]? *`
	amount    = `\d[\d.,' ]*(?:[km]\b)?\+?`
	views     = `(?:page ?views?|views?|page ?visits?|page ?impressions|aufrufe|seitenaufrufe|vues)`
	counted   = `(?:` + views + `|visits?|visitors?|hits|besucher|visites|visitas|vistas)`
	people    = `(?:users?|guests?|members?|visitors?|people|gäste|benutzer|mitglieder)`
	counter   = `(?: ?(?:number|no\.?|count(?:er)?|so far|today|total|heute|gesamt))`
)

var counters = []string{"view", "visit", "hits", "impressions", "aufrufe", "besucher", "vues", "vistas"}

type volatilePattern struct {
	anyOf      []string // every match contains one of these strings; checked first, because the expressions are slow
	expression func() *regexp.Regexp
	notBefore  func() *regexp.Regexp // a match is kept if this expression matches the text after it; may be nil
}

// perUnit matches what follows the number in "10,000 views per month". Such a number belongs to an offer, so it is
// content rather than a counter.
var perUnit = lazyregexp.New(`^\s*(?:per\b|/|€|\$|%|an? \pL|each\b|every\b|pro\b|par\b|por\b|im monat|included|for\b)`)

// strictPatterns lists the patterns for text that changes with every response. A time matches only if words about the
// server or its page come before it. A time after "Time:", "printed", "as of" or "last updated" doesn't match, because
// it may be content.
var strictPatterns = []volatilePattern{
	// Matches "Page generated at 13:04" and "Server time: 13:04".
	{anyOf: []string{"page", "response", "seite", "página", "server"},
		expression: lazyregexp.New(`\b(?:(?:page|response|seite|página)(?: was| is| wurde| a été| fue)? (?:generated|rendered|served|cached|erzeugt|generiert|générée?|generad[ao])|(?:server|page) time)` + connector + moment + wordEnd)},
	// Matches "Current time: 2026-11-26 13:04:05" and "Today is Thursday, 26 November 2026 13:04:05".
	{anyOf: []string{"time", "now", "today", "uhrzeit"}, expression: lazyregexp.New(`\b(?:(?:current|system|local) (?:date(?: and | ?[/&] ?))?time|time now|aktuelle uhrzeit|(?:today|it)(?: is|['’]s)(?: now)?)` + connector + instant + wordEnd)},
	// Matches "Generated on 26 November 2026 at 13:04" and "Rendered at 1795698245.123456".
	{anyOf: []string{"generated", "rendered", "erzeugt", "generiert", "généré", "generad"},
		expression: lazyregexp.New(`\b(?:generated|rendered|erzeugt|generiert|générée?|generad[ao])` + connector + second + wordEnd)},
	// Matches "Page generated in 0.034 seconds" and "17 queries in 0.2 seconds".
	{anyOf: []string{" in ", " took ", " after ", "queries"},
		expression: lazyregexp.New(`\b\d+ (?:sql |db |database )?queries[.,:;|-]? ?\d+(?:[.,]\d+)? ?(?:ms|s|sec|secs|seconds?)\b|\b(?:(?:page|seite)(?: \pL+){0,2} (?:created|loaded|served|built)|generated|rendered|\d+ queries|erzeugt|générée?)(?: \pL+){0,3} (?:in|took|after) \d+(?:[.,]\d+)? ?(?:ms|milliseconds|msec|s|sec|secs|seconds?|sekunden|secondes)\b`)},
	// Matches "1,234 views", "Page views: 1234" and "You are visitor number 1234".
	{anyOf: counters, expression: lazyregexp.New(`\b` + amount + ` ?` + views + `\b`), notBefore: perUnit},
	{anyOf: counters, expression: lazyregexp.New(`\b(?:` + views + counter + `*(?: ?[:#=(]| is)|(?:` + views + `|visitor)` + counter + `+ ?[:#=(]?) *` + amount), notBefore: perUnit},
	{anyOf: []string{" times"}, expression: lazyregexp.New(`\bviewed ` + amount + ` ?times\b`)},
	// Matches "Served by web-12".
	{anyOf: []string{"served by"}, expression: lazyregexp.New(`\bserved by:? \pL[\pL._-]*\d[\w.-]*`)},
	// Matches "Request ID: 4f1c…", "Trace: 123e4567-e89b-…" and "csrf_token = …".
	{anyOf: []string{"request", "trace", "ray", "correlation", "incident", "reference"},
		expression: lazyregexp.New(`\b(?:request|trace|ray|correlation|incident|reference)(?: (?:no\.?|number|#))? ?[:#=] ?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b`)},
	{anyOf: []string{"id"}, expression: lazyregexp.New(`\b(?:(?:request|ray|trace|correlation)[ _-]?id ?[:#=]? ?[0-9a-z_-]*\d[0-9a-z_-]*|session[ _-]?id ?[:#=]? ?[0-9a-z_-]{16,})`)},
	{anyOf: []string{"nonce", "csrf", "xsrf", "token"}, expression: lazyregexp.New(`\b(?:nonce|csrf(?:[ _-]?token)?|xsrf(?:[ _-]?token)?|request token) ?[:=] ?\S{6,}`)},
}

var lenientPatterns = slices.Concat(strictPatterns, []volatilePattern{
	// Matches "3 minutes ago".
	{anyOf: []string{" ago", "vor ", "il y a ", "hace "}, expression: lazyregexp.New(`\b(?:\d+|an?|one) (?:seconds?|secs?|minutes?|mins?|hours?) ago\b|\bvor \d+ (?:sekunden?|minuten?|stunden?)\b|\bil y a \d+ (?:secondes?|minutes?|heures?)\b|\bhace \d+ (?:segundos?|minutos?|horas?)\b`)},
	// Matches "Visitors: 1234" and "1234 hits so far".
	{anyOf: counters, expression: lazyregexp.New(`\b` + counted + `(?:` + counter + `* ?[:#=]|` + counter + `+) *` + amount), notBefore: perUnit},
	{anyOf: counters, expression: lazyregexp.New(`\b` + amount + ` ?` + counted + ` (?:so far|since|today|bisher|seit|heute)\b`)},
	// Matches "17 users online", "Users online: 17", "3 users browsing this forum" and "Memory: 1.5 MB".
	{anyOf: []string{"online", "browsing"}, expression: lazyregexp.New(`\b` + amount + ` ?` + people + `(?: and ` + amount + ` ?` + people + `)?(?: are| is)? (?:currently )?(?:online|browsing)\b|\b(?:` + people + ` (?:currently )?online|currently online) ?[:#=(]? *` + amount)},
	{anyOf: []string{"memory"}, expression: lazyregexp.New(`\b(?:peak )?memory(?: usage| used)? ?[:=] ?\d+(?:[.,]\d+)? ?[kmg]i?b\b(?:[,;|] *time ?[:=] ?\d+(?:[.,]\d+)? ?(?:ms|s|sec|seconds?)\b)?`)},
	{anyOf: []string{" times"}, expression: lazyregexp.New(`\b(?:read|visited) ` + amount + ` ?times\b`)},
})

// RemoveVolatile returns the text in lower case, with single spaces, and without the parts that a server changes in
// every response: the time at which the page was generated, durations, ages ("3 minutes ago"), counters, tokens and
// request ids. All other dates, times and numbers remain in the text, because a change in them is a change in content.
// Use it to compare two pages.
func RemoveVolatile(text string) string { return removeMatches(text, lenientPatterns) }

// RemoveVolatileStrict keeps ages and visit counters, unlike RemoveVolatile, because they may be facts. Use it to
// compare a page with an earlier version of itself: with RemoveVolatile, a changed page could look unchanged and would
// not be indexed again.
func RemoveVolatileStrict(text string) string { return removeMatches(text, strictPatterns) }

func removeMatches(text string, parts []volatilePattern) string {
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		line = strings.ToLower(strings.Join(strings.Fields(line), " "))
		if line == "" {
			continue
		}
		if strings.ContainsAny(line, "0123456789") || strings.Contains(line, " ago") || strings.Contains(line, "nonce") || strings.Contains(line, "csrf") || strings.Contains(line, "token") {
			line = cleanLine(line, parts)
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// cleanLine removes volatile parts from the first maxLine bytes of a line.
func cleanLine(line string, parts []volatilePattern) string {
	rest := ""
	if len(line) > maxLine {
		cut := len(bounded.Prefix(line, maxLine))
		line, rest = line[:cut], line[cut:]
	}
	for _, u := range parts {
		if !slices.ContainsFunc(u.anyOf, func(word string) bool { return strings.Contains(line, word) }) {
			continue
		}
		matches := u.expression().FindAllStringIndex(line, -1)
		if matches == nil {
			continue
		}
		var b strings.Builder
		from := 0
		for _, m := range matches {
			if u.notBefore != nil && u.notBefore().MatchString(line[m[1]:]) {
				continue
			}
			b.WriteString(line[from:m[0]])
			b.WriteString("…")
			from = m[1]
		}
		b.WriteString(line[from:])
		line = b.String()
	}
	return line + rest
}
