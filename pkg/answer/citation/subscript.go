package citation

import (
	"strings"

	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/wordset"
)

// Number of bytes before and after brackets that are examined to tell a subscript from a citation.
const (
	maxNameBytes  = 64 // before the brackets
	followerBytes = 4  // after the brackets
)

var (
	// arrayName matches common names for arrays in code that aren't English words: arr, argv, snake_case, $name.
	arrayName = lazyregexp.New(`(?:^|[^\p{L}\p{M}\p{N}_$])(?:arr|argv|args|buf|cols|dict|elems|idx|lst|mat|nums|params|ptr|regs|str|tmp|tup|vals|vec|[a-z][0-9a-z]*_[0-9a-z_]*|\$[0-9A-Za-z_]+)$`)
	// letterName matches a one-letter name, such as x, but not the s in "gate's".
	letterName = lazyregexp.New(`(?:^|[^\p{L}\p{M}\p{N}_$'’./-])[a-z]$`)
	// callBefore matches a call whose result may be subscripted: split(",")[1]. The end of "text (note)" doesn't match,
	// because of the space before the parenthesis.
	callBefore = lazyregexp.New(`[0-9A-Za-z_]\([^()]*\)$`)
	// codeFollows matches what follows a subscript only in code: assignments, comparisons, field accesses, increments.
	codeFollows = lazyregexp.New(`^(?:\s?(?:[-+*/|&^%:]?=|[!<>]=)|\+\+|--|->|\.[a-z_]|\{|\[[A-Za-z'"])`)
	// assigned matches text ending with an equals sign. A list of numbers after it is a value, not a citation: x = [5].
	assigned = lazyregexp.New(`=\s?$`)
)

// nameBefore matches the name before a bracket, such as arr in arr[2]. Digits alone, as in 1[2], are not a name.
var nameBefore = lazyregexp.New(`[A-Za-z_$][0-9A-Za-z_$]*$`)

// isSubscript reports whether the brackets between before and after are a subscript, as in arr[2], and not a citation.
func isSubscript(before, after string) bool {
	if !isSubscriptPrefix(before) || strings.Contains(before[strings.LastIndexAny(before, " \t\n")+1:], "://") {
		return false
	}
	return arrayName().MatchString(before) || letterName().MatchString(before) || callBefore().MatchString(before) || codeFollows().MatchString(after)
}

// Maximum number of array names remembered by learnArrays.
const maxArrays = 100

// arrayPattern matches a name with a subscript that cannot be a citation: items[0], items[i].
const arrayPattern = `([A-Za-z_$][0-9A-Za-z_$]*)(?:\[(?:0|[i-n]|idx|index|key|[a-z]+_[a-z_]+)\])+`

var (
	arrayInText     = lazyregexp.New(arrayPattern)
	subscriptBefore = lazyregexp.New(arrayPattern + `$`)
)

// learnArrays remembers the text's array names: if items[0] occurs, items[1] is a subscript, too.
func (c *citationFilter) learnArrays(text string) {
	if !strings.Contains(text, "[") {
		return
	}
	for _, found := range arrayInText().FindAllStringSubmatch(text, maxArrays) {
		c.learnArray(found[1])
	}
}

func (c *citationFilter) learnArray(name string) {
	if name != "" && len(c.arrays) < maxArrays {
		c.arrays[name] = true
	}
}

// rangedWords precede number ranges that are not citations, as in "pages [3-5]".
var rangedWords = wordset.Of(`
	page pages pp line lines row rows column columns chapter chapters section sections step steps item items figure figures
	table tables version versions volume volumes article articles paragraph paragraphs question questions level levels year years
	day days week weeks month months grade grades
	seite seiten zeile zeilen spalte spalten kapitel abschnitt abschnitte abschnitten schritt schritte schritten tabelle tabellen
	abbildung abbildungen absatz absätze artikel bände stufe stufen jahr jahre jahren tag tage tagen
	ligne lignes colonne colonnes chapitre chapitres étape étapes tableau tableaux
	página páginas línea líneas capítulo capítulos paso pasos tabla tablas figura figuras artículo artículos
	pagina pagine riga righe colonna capitolo capitoli passo passi tabella tabelle articolo articoli linha linhas passos
	pagina's regel regels hoofdstuk hoofdstukken stap stappen tabel
`)

// intervalWords precede intervals or vectors, as in "interval [1, 2]".
var intervalWords = wordset.Of(`
	interval intervals range ranges between vector vectors coordinates tuple array
	intervall intervalle bereich wertebereich zwischen vektor
	entre vecteur plage intervalo rango intervallo vettore tussen
`)

// lastWord captures the last word before a bracket, without a full stop: "pp" in "see pp.".
var lastWord = lazyregexp.New(`([\p{L}'’]+)\.?$`)

// numbersBelongToWord reports whether bracketed numbers belong to the last word directly before them, as in "pages
// [3-5]".
func numbersBelongToWord(before string, m mark) bool {
	if len(m.numbers) < 2 {
		return false
	}
	found := lastWord().FindStringSubmatch(before)
	if found == nil {
		return false
	}
	word := strings.ToLower(found[1])
	return intervalWords[word] || m.ranged && rangedWords[word]
}

// isSubscriptPrefix reports whether before ends in a name or a call, after which brackets may be a subscript.
func isSubscriptPrefix(before string) bool {
	return nameBefore().MatchString(before) || callBefore().MatchString(before)
}

// lastBytes returns as much of the end of the text as isSubscript needs.
func lastBytes(text string) string { return text[max(0, len(text)-maxNameBytes):] }

// firstBytes returns as much of the start of the text as isSubscript needs.
func firstBytes(text string) string { return text[:min(followerBytes, len(text))] }

// CodeTracker reads Markdown byte by byte and tracks which parts are code.
type CodeTracker struct {
	ticks int // length of the current run of backticks
	code  int // length of the run that opened the code; 0 outside code

	inLine bool // whether the line contains more than white space
	after  bool // whether the previous line contained more than white space
	indent int  // columns of leading white space on the line
	tildes int  // length of the current run of tildes at the start of the line
	fenced int  // length of the run of tildes that opened a code block; 0 outside one
}

// inCode reports whether the next character, b, is inside code.
func (c *CodeTracker) inCode(b byte) bool {
	code := c.code
	if b != '`' && c.ticks > 0 { // the run of backticks before b is complete
		code = afterRun(code, c.ticks)
	}
	return code > 0 || c.fenced > 0
}

// indented reports whether the line is indented enough to be a code block without fences. A paragraph in a list may be
// indented just as far.
func (c *CodeTracker) indented() bool { return c.indent >= 4 }

// track processes the next byte. A run of backticks opens code, and a run of the same length closes it. Inline code
// ends with its line, so that a stray backtick doesn't turn everything after it into code.
func (c *CodeTracker) track(b byte) {
	c.trackLine(b)
	if b == '`' && c.fenced == 0 {
		c.ticks++
		return
	}
	if c.ticks > 0 {
		c.code = afterRun(c.code, c.ticks)
		c.ticks = 0
	}
	if b == '\n' && c.code < 3 {
		c.code = 0
	}
}

// trackLine processes the start of a line: indentation, and a fence of tildes. Directly below a line of text, tildes
// underline a heading instead of opening a fence.
func (c *CodeTracker) trackLine(b byte) {
	switch {
	case b == '~' && (!c.inLine || c.tildes > 0):
		c.inLine = true
		c.tildes++
		return
	case b == ' ' && !c.inLine:
		c.indent++
		return
	case b == '\t' && !c.inLine:
		c.indent += 4 - c.indent%4
		return
	}
	switch {
	case c.tildes < 3 || c.indent > 3 || c.code > 0:
	case c.fenced == 0 && !c.after:
		c.fenced = c.tildes
	case c.fenced > 0 && c.tildes >= c.fenced:
		c.fenced = 0
	}
	c.tildes = 0
	if b == '\n' {
		c.after, c.inLine, c.indent = c.inLine, false, 0
	} else {
		c.inLine = true
	}
}

func afterRun(code, ticks int) int {
	switch code {
	case 0:
		return ticks
	case ticks:
		return 0
	default:
		return code
	}
}
