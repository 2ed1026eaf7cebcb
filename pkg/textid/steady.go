package textid

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLine is the number of bytes of a line in which Steady looks for unsteady parts. It bounds the time of the expressions.
const maxLine = 2_000

// Parts of the expressions below. All text is compared in lower case.
const (
	months   = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez|janv|févr|mars|avr|juin|juil|août|déc|ene|abr|ago|dic)\pL*\.?`
	weekdays = `(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?`
	zone     = `(?:z|utc|gmt|c?est|cet|edt|cst|cdt|mst|mdt|pst|pdt|uhr|[+-]\d{2}:?\d{2})`
	clock    = `\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]\.?m\.?)?(?: ?\(?` + zone + `\b\)?){0,2}`
	exact    = `\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?: ?[ap]\.?m\.?)?(?: ?\(?` + zone + `\b\)?){0,2}`
	date     = `(?:` + weekdays + ` )?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}(?:st|nd|rd|th|\.)? (?:of )?` + months +
		`(?:,? \d{4})?|` + months + ` +\d{1,2}(?:st|nd|rd|th)?(?:,? \d{4}\b)?)`
	between = `(?:,? (?:at |um |à |- )?|t)`
	epoch   = `1\d{9}(?:\d{3})?(?:\.\d+)?`
	moment  = `(?:` + date + `(?:` + between + clock + `)?|` + clock + `(?:,? (?:on )?` + date + `)?|` + epoch + `)`
	amount  = `\d[\d.,' ]*(?:[km]\b)?\+?`
	counted = `(?:page ?views?|views?|page ?visits?|visits?|visitors?|hits|page ?impressions|aufrufe|seitenaufrufe|besucher|vues|visites|visitas|vistas)`
)

var counters = []string{"view", "visit", "hits", "impressions", "aufrufe", "besucher", "vues", "vistas"}

var unsteady = []struct {
	needs      []string // every match contains one of these; a prefilter, because the expressions are slow
	expression *regexp.Regexp
	unless     *regexp.Regexp // a match followed by this is kept; nil: none is kept
}{
	// "Generated on 26 November 2026 at 13:04", "Last updated: 2026-11-26"
	{needs: []string{"generated", "rendered", "served", "loaded", "cached", "retrieved", "printed", "exported", "refreshed", "last ", "updated", "time", "current date", " is", "now", "as of", "erzeugt", "generiert", "abgerufen", "aktualisiert", "zuletzt", "uhrzeit", "généré", "mis à jour", "generado", "actualizado"},
		expression: regexp.MustCompile(`\b(?:generated|rendered|served|loaded|cached|retrieved|printed|exported|refreshed|last (?:updated?|modified|changed|visit(?:ed)?|login|refresh|checked|build)|updated|current (?:local |server )?(?:time|date)|(?:local|server|page) time|time(?:stamp)?(?: is)?(?: now)?|the time is|it is(?: now)?|now|today is|as of|erzeugt|generiert|abgerufen|aktualisiert|zuletzt (?:geändert|aktualisiert)|uhrzeit|généré|mis à jour|generado|actualizado)(?: (?:on|at|by|in|am|um|le|el|à))*[:=]? *` + moment + `(?:\b|$)`)},
	// "2026-11-26 13:04:05", "Thu, 26 Nov 2026 13:04:05 GMT"
	{needs: []string{":"}, expression: regexp.MustCompile(`\b` + date + between + exact)},
	{needs: []string{":"}, expression: regexp.MustCompile(`\b` + exact + `,? (?:on )?` + date)},
	// "Thu Nov 26 13:04:05 2026", "Thu Nov 26 13:04:05 UTC 2026"
	{needs: []string{":"}, expression: regexp.MustCompile(`\b` + weekdays + ` ` + months + ` +\d{1,2} ` + exact + ` \d{4}\b`)},
	// "1795698245.123456": seconds since 1970 with a fraction, or milliseconds
	{needs: []string{"15", "16", "17", "18", "19"}, expression: regexp.MustCompile(`\b1[5-9]\d{8}(?:\.\d+|\d{3})\b`)},
	// a clock
	{needs: []string{":"}, expression: regexp.MustCompile(`^\s*\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?: ?` + zone + `)?\s*$`)},
	// "Page generated in 0.034 seconds"
	{needs: []string{" in ", " took ", " after "}, expression: regexp.MustCompile(`\b(?:generated|rendered|created|loaded|served|executed|built|queries|erzeugt|généré)(?: \pL+){0,3} (?:in|took|after) \d+(?:[.,]\d+)? ?(?:ms|milliseconds|msec|s|sec|secs|seconds?|sekunden|secondes)\b`)},
	// "3 minutes ago"
	{needs: []string{" ago", "vor ", "il y a ", "hace "}, expression: regexp.MustCompile(`\b(?:\d+|an?|one) (?:seconds?|secs?|minutes?|mins?|hours?|days?|weeks?|months?|years?) ago\b|\bvor \d+ (?:sekunden?|minuten?|stunden?|tagen?)\b|\bil y a \d+ \pL+\b|\bhace \d+ \pL+\b`)},
	// "1,234 views", "Visitors: 1234", "You are visitor number 1234"
	{needs: counters, expression: regexp.MustCompile(`\b` + amount + ` ?` + counted + `\b`), unless: regexp.MustCompile(`^\s*(?:per\b|/|an? \pL|each\b|every\b|pro\b|par\b|por\b|im monat|included|for\b)`)},
	{needs: counters, expression: regexp.MustCompile(`\b(?:` + counted + `|visitor)(?: ?(?:number|no\.?|count(?:er)?|so far|today|total|heute|gesamt))*(?: ?[:#=(]| is)? *` + amount), unless: regexp.MustCompile(`^\s*(?:per\b|/|€|\$|%)`)},
	{needs: []string{" times"}, expression: regexp.MustCompile(`\b(?:viewed|read|visited) ` + amount + ` ?times\b`)},
	// "Request ID: 4f1c…", "csrf_token = …"
	{needs: []string{"id"}, expression: regexp.MustCompile(`\b(?:request|ray|trace|session|correlation|transaction)[ _-]?id ?[:#=]? ?[0-9a-z_-]*\d[0-9a-z_-]*`)},
	{needs: []string{"nonce", "csrf", "xsrf", "token"}, expression: regexp.MustCompile(`\b(?:nonce|csrf(?:[ _-]?token)?|xsrf(?:[ _-]?token)?|request token) ?[:=] ?\S{6,}`)},
}

// Steady returns the text in lower case, with single spaces, without the parts that servers change in every response: the
// time of generation or display, durations and ages ("3 minutes ago"), view counters and request ids. A bare date or
// number stays: a change of it is a change of the content.
func Steady(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		line = strings.ToLower(strings.Join(strings.Fields(line), " "))
		if line == "" {
			continue
		}
		if strings.ContainsAny(line, "0123456789") || strings.Contains(line, " ago") || strings.Contains(line, "nonce") || strings.Contains(line, "csrf") {
			line = steadyLine(line)
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// steadyLine replaces the unsteady parts of a line. It examines the first maxLine bytes.
func steadyLine(line string) string {
	rest := ""
	if len(line) > maxLine {
		cut := maxLine
		for !utf8.RuneStart(line[cut]) {
			cut--
		}
		line, rest = line[:cut], line[cut:]
	}
	for _, u := range unsteady {
		if !slices.ContainsFunc(u.needs, func(word string) bool { return strings.Contains(line, word) }) {
			continue
		}
		matches := u.expression.FindAllStringIndex(line, -1)
		if matches == nil {
			continue
		}
		var b strings.Builder
		from := 0
		for _, m := range matches {
			if u.unless != nil && u.unless.MatchString(line[m[1]:]) {
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
