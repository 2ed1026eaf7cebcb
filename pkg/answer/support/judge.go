package support

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
)

// Judger compares sentences with sources. It is not safe for concurrent use.
type Judger struct {
	fragments []domain.Fragment
	sources   []*source // nil until needed
	left      int       // how many more bytes of the sources may be prepared
	reader    reader
	lang      analysis.Language // the answer's language; Unknown if it is too short to tell
}

// NewJudger returns a Judger for an answer based on these sources. The caller must close it.
func NewJudger(sources []domain.Fragment) *Judger {
	j := &Judger{fragments: sources, sources: make([]*source, len(sources)), left: maxSourcesBytes}
	j.reader = reader{analyzer: analysis.Borrow(), terms: make(map[string][]string)}
	var langs []analysis.Language
	for _, f := range sources {
		if lang := analysis.Detect(validPrefix(f.Text, maxDetectBytes)); !slices.Contains(langs, lang) && len(langs) < maxLanguages {
			langs = append(langs, lang)
		}
	}
	if !slices.Contains(langs, analysis.English) {
		langs = append(langs, analysis.English)
	}
	j.reader.langs = langs
	return j
}

// Limits on language detection.
const (
	maxDetectBytes  = 2000
	maxLanguages    = 3
	minDetectLetter = 40 // a shorter answer's language is uncertain
)

// Close returns the judger's memory to the pool.
func (j *Judger) Close() { j.reader.analyzer.Return() }

// Language sets the answer's language.
func (j *Judger) Language(answer string) {
	answer = validPrefix(answer, maxDetectBytes)
	if utf8.RuneCountInString(answer) < minDetectLetter && !strings.ContainsFunc(answer, unspaced) {
		return
	}
	j.lang = analysis.Detect(answer)
}

// source returns the i-th source, prepared for comparison.
func (j *Judger) source(i int) *source {
	if j.sources[i] == nil {
		s := newSource(j.fragments[i], &j.reader, min(j.left, maxSourceBytes))
		s.lang = analysis.Detect(validPrefix(s.text, maxDetectBytes))
		j.left -= len(s.text)
		j.sources[i] = s
	}
	return j.sources[i]
}

// Judge compares a piece of the answer text with the sources whose indexes are in `among`.
func (j *Judger) Judge(text string, p Piece, among []int) domain.AnswerSentence {
	out := domain.AnswerSentence{Start: p.Start, End: p.End, Spans: []domain.SourceSpan{}}
	if len(j.fragments) == 0 || p.Kind == Heading {
		return out
	}
	sentence := validPrefix(p.Text, maxSentenceBytes)
	exact, found := j.findExact(sentence, among)
	if p.Kind == Code {
		if found {
			j.addSpans(&out, exact)
			out.Support = new(1.0)
		}
		return out
	}
	if statesNothing(sentence) {
		return out
	}
	words := j.reader.read(sentence, 0, len(sentence), maxSentenceWords)
	if found {
		j.addSpans(&out, exact)
		out.Support = new(1.0)
		return out
	}
	c := j.compare(sentence, words, among)
	out.Support = c.score()
	for _, r := range c.places() {
		j.addSpans(&out, r)
	}
	return out
}

type sourceRange struct {
	source int
	in     domain.TextRange
}

// A sentence is searched for verbatim only if it has at least this many bytes of letters and digits. A shorter sentence
// may occur in a source by chance.
const minExact = 8

// findExact looks for a sentence, word for word, in the sources whose indexes are in `among`. It returns the first
// passage containing the sentence, or false if there is none.
func (j *Judger) findExact(sentence string, among []int) (sourceRange, bool) {
	plain := condense(sentence).text
	if len(plain) < minExact {
		return sourceRange{}, false
	}
	for _, i := range among {
		s := j.source(i)
		if r, ok := s.find(plain); ok && !s.isNegatedBefore(r) && s.hasSameFigures(sentence, r) {
			return sourceRange{i, s.widen(r)}, true
		}
	}
	return sourceRange{}, false
}

// hasSameFigures reports whether decimal points and other separators in figures are the same in a sentence and in a
// source range. The caller has compared only letters and digits, so it has not noticed the difference between 1.5 and
// 15.
func (s *source) hasSameFigures(sentence string, r domain.TextRange) bool {
	marks := func(text string) string {
		var out strings.Builder
		for i, c := range text {
			if c != '.' && c != ',' && c != '-' && c != '−' && c != '/' && c != ':' {
				continue
			}
			before, _ := utf8.DecodeLastRuneInString(text[:i])
			after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(c):])
			if unicode.IsDigit(after) && (unicode.IsDigit(before) || c == '-' || c == '−') {
				out.WriteRune(c)
			}
		}
		return out.String()
	}
	start := r.Start
	if start > 0 && (s.text[start-1] == '-' || s.text[start-1] == '.') {
		start--
	}
	return marks(sentence) == marks(s.text[start:r.End])
}

// isNegatedBefore reports whether a range begins within a sentence, directly after a negation.
func (s *source) isNegatedBefore(r domain.TextRange) bool {
	const near = 3 // words
	for _, u := range s.units {
		if u.start >= r.Start || u.end <= r.Start {
			continue
		}
		for i := u.from; i < u.to; i++ {
			if w := s.words[i]; w.negation == negates && w.end <= r.Start && i+near < u.to && s.words[min(i+near, u.to-1)].end > r.Start {
				return true
			}
		}
	}
	return false
}

// addSpans adds a source passage to out.Spans. If the passage consists of text from several places in the document,
// addSpans adds one span for each.
func (j *Judger) addSpans(out *domain.AnswerSentence, r sourceRange) {
	f := j.fragments[r.source]
	spans := domain.SourceSpans(f, r.source, trimmed(f.Text, r.in))
	out.Spans = append(out.Spans, spans[:min(len(spans), maxSpans-len(out.Spans))]...)
}

// trimmed removes leading and trailing white space from a range.
func trimmed(text string, r domain.TextRange) domain.TextRange {
	part := text[r.Start:r.End]
	r.Start += len(part) - len(strings.TrimLeftFunc(part, unicode.IsSpace))
	r.End -= len(part) - len(strings.TrimRightFunc(part, unicode.IsSpace))
	return r
}

// statesNothing reports whether a sentence says nothing about the documents' subject, because it announces something,
// asks a question, or says what the documents lack.
func statesNothing(sentence string) bool {
	body := strings.TrimRightFunc(sentence, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`*_"'”’»)`, r) })
	last, _ := utf8.DecodeLastRuneInString(body)
	if strings.ContainsRune("?？؟", last) || language.IsPhrase(sentence) {
		return true
	}
	if (last == ':' || last == '：') && !strings.ContainsFunc(body, unicode.IsDigit) {
		return true
	}
	return deniesDocuments(sentence)
}

// deniesDocuments reports whether a sentence says that the documents do not contain something.
func deniesDocuments(sentence string) bool {
	const longest = 300 // bytes
	if len(sentence) > longest {
		return false
	}
	lower := strings.ToLower(sentence)
	about := false
	for _, w := range documentWords {
		about = about || strings.Contains(lower, w)
	}
	if !about {
		return false
	}
	for _, w := range language.Words(sentence) {
		if negating[w] {
			return true
		}
	}
	return strings.Contains(lower, "n't ") || strings.Contains(lower, "n’t ") || strings.ContainsFunc(sentence, unspaced) && unspacedNegated(sentence)
}

// documentWords begin the phrases with which answers refer to their documents.
var documentWords = []string{"the document", "the provided", "the context", "the given", "the sources", "dokumente", "quellen", "les documents", "los documentos", "i documenti", "os documentos", "de documenten", "документ", "文档", "文書", "資料", "문서"}
