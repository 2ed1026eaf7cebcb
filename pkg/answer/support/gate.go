package support

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/citation"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// Gate removes unsupported sentences while an answer is being written. It reads the model's own text, before citations
// are renumbered, so that citations in removed sentences don't count. It holds back each sentence until the next one
// begins or the line ends, but never more than maxHeld bytes. Code passes unchanged.
type Gate struct {
	judger    func() *Judger // prepared while the model begins its answer
	fragments []domain.Fragment
	marker    citation.Marker
	seen      strings.Builder // start of the answer, used to detect its language
	detected  int             // length of `seen` at the last detection, in bytes
	closed    bool
	held      string
	fence     string // markers that opened a code block; "" outside code
	begun     bool   // whether any of the current line has been passed on or removed
	passed    string // last byte passed on from the current line
}

// Maximum number of bytes that a Gate holds back.
const maxHeld = 4 << 10

// NewGate returns a Gate for an answer to a prompt with these fragments. The caller must call Close.
func NewGate(fragments []domain.Fragment) *Gate {
	numbered := make([]domain.Fragment, len(fragments))
	for i, f := range fragments {
		f.Citation = i + 1
		numbered[i] = f
	}
	g := &Gate{judger: sync.OnceValue(func() *Judger { return NewJudger(numbered) }), fragments: numbered, marker: citation.NewMarker(numbered)}
	go g.judger()
	return g
}

// Write processes more of the answer and returns the text to pass on.
func (g *Gate) Write(piece string) string {
	if piece == "" {
		return ""
	}
	if g.seen.Len() < maxDetectBytes {
		g.seen.WriteString(piece)
	}
	g.held += piece
	var out strings.Builder
	for {
		i := strings.IndexByte(g.held, '\n')
		if i < 0 {
			break
		}
		line := g.held[:i+1]
		g.held = g.held[i+1:]
		g.line(&out, line)
	}
	if g.fence != "" || !strings.ContainsFunc(piece, mayFollowSentence) && len(g.held) <= maxHeld {
		return out.String()
	}
	g.sentences(&out)
	return out.String()
}

// mayFollowSentence reports whether a character may start the next sentence.
func mayFollowSentence(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// Close returns any text held back and releases the gate's memory.
func (g *Gate) Close() string {
	var out strings.Builder
	if g.held != "" {
		g.line(&out, g.held)
		g.held = ""
	}
	if !g.closed {
		g.judger().Close()
		g.closed = true
	}
	return out.String()
}

// line passes on the remainder of a line, omitting unsupported sentences. If no text is left, it also drops the line
// break.
func (g *Gate) line(out *strings.Builder, line string) {
	body := strings.TrimRight(line, "\r\n")
	fence := fenceLine().FindStringSubmatch(body)
	switch {
	case body == "" && g.fence == "":
		out.WriteString(line) // nothing to compare with the sources
	case g.fence != "":
		if fence != nil && strings.HasPrefix(fence[1], g.fence) {
			g.fence = ""
		}
		out.WriteString(line)
	case fence != nil && !g.begun:
		g.fence = fence[1]
		out.WriteString(line)
	default:
		kept := g.judged(body)
		if strings.TrimSpace(kept) == "" && strings.TrimSpace(body) != "" && !g.begun {
			break
		}
		out.WriteString(kept)
		out.WriteString(line[len(body):])
	}
	g.begun, g.passed = false, ""
}

// sentences passes on an unfinished line's complete sentences, except unsupported ones.
func (g *Gate) sentences(out *strings.Builder) {
	masked := maskMarks(g.held, g.marker.Marks(g.held))
	spans := chunk.Sentences(masked)
	cut := 0
	if n := len(spans) - 1; n > 0 {
		if first, _ := utf8.DecodeRuneInString(masked[spans[n].Start:]); mayFollowSentence(first) {
			cut = spans[n].Start
		}
	}
	if cut == 0 && len(g.held) > maxHeld {
		cut = len(validPrefix(g.held, maxHeld))
	}
	if cut == 0 || fenceLine().MatchString(g.held) && !g.begun || strings.HasPrefix(strings.TrimSpace(g.held), "|") && len(g.held) <= maxHeld {
		return
	}
	out.WriteString(g.judged(g.held[:cut]))
	g.held = g.held[cut:]
	g.begun = true
}

// judged removes unsupported sentences from a text without line breaks.
func (g *Gate) judged(text string) string {
	judger := g.judger()
	if g.detected < g.seen.Len() {
		judger.Language(g.seen.String())
		g.detected = g.seen.Len()
	}
	pieces := Split(text, g.marker.Marks(text))
	var out strings.Builder
	at := 0 // end of the text passed on or removed so far
	for _, p := range pieces {
		v := judger.Judge(text, p, cited(g.fragments, p.Cited))
		if v.Support == nil || *v.Support >= Threshold {
			continue
		}
		start := p.Start
		if before := itemLine().FindString(text); at == 0 && len(before) == start && len(pieces) == 1 {
			start = 0 // the only sentence in an item
		}
		out.WriteString(text[at:start])
		at = p.End
		if before := g.passed + out.String(); before == "" || strings.HasSuffix(before, " ") {
			at += len(text[at:]) - len(strings.TrimLeft(text[at:], " "))
		}
	}
	out.WriteString(text[at:])
	if out.Len() > 0 {
		g.passed = out.String()[out.Len()-1:]
	}
	return out.String()
}

// maskMarks replaces citation markers with spaces.
func maskMarks(text string, marks []citation.Mark) string {
	if len(marks) == 0 {
		return text
	}
	masked := []byte(text)
	for _, m := range marks {
		for i := m.Start; i < m.End; i++ {
			masked[i] = ' '
		}
	}
	return string(masked)
}
