// Package subtitle reads subtitles in the SubRip (srt) and WebVTT formats. Each block holds the time when its text is
// spoken.
package subtitle

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

const (
	typeSubRip = "application/x-subrip"
	typeWebVTT = "text/vtt"
)

// SubRip describes SubRip subtitles, which most players read and write.
var SubRip = format.Format{
	Type: typeSubRip, Aliases: []string{"text/srt", "application/srt", "text/x-subrip"}, Extensions: []string{".srt"},
	Name: "SubRip subtitles", Label: "SubRip (srt)", Text: true, Read: readSubRip,
	Sniff: func(head []byte, named string) bool {
		switch named {
		case typeSubRip, typeWebVTT:
			return bytes.Contains(head, []byte("-->")) && !isWebVTT(head)
		case "":
			return numberedCue().Match(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
		}
		return false
	},
}

// WebVTT describes WebVTT subtitles, the format used by web browsers and meeting recorders.
var WebVTT = format.Format{
	Type: typeWebVTT, Extensions: []string{".vtt"},
	Name: "WebVTT subtitles", Label: "WebVTT (vtt)", Text: true, Read: readWebVTT,
	Sniff: func(head []byte, named string) bool {
		return (named == "" || named == typeWebVTT || named == typeSubRip) && isWebVTT(head)
	},
}

// numberedCue matches the start of a SubRip file: the first cue's number and times.
var numberedCue = lazyregexp.New(`^\s*\d{1,6}[ \t]*\r?\n[ \t]*\d{1,3}:\d\d:\d\d[,.]\d{1,3}[ \t]*-->`)

// isWebVTT reports whether a text starts with the WebVTT signature.
func isWebVTT(head []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), []byte("WEBVTT"))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

func readSubRip(p *format.Parser) error { return read(p, "srt", false) }
func readWebVTT(p *format.Parser) error { return read(p, "vtt", true) }

// read reads a file's cues. Unlike WebVTT, SubRip allows empty lines in a cue and has no comments or style sheets.
func read(p *format.Parser, route string, webVTT bool) error {
	standard := ""
	if webVTT {
		standard = "utf-8"
	}
	src, err := p.TextReader(route, standard)
	if err != nil {
		return err
	}
	w := &writer{p: p}
	lines := &format.LineReader{R: src.Reader}
	var current cue
	between := webVTT // in WebVTT, the lines between two cues are comments, style sheets and cue names
	for n := 0; ; n++ {
		if n%256 == 0 && p.Ctx.Err() != nil {
			return p.Ctx.Err()
		}
		line, ok, err := lines.Next()
		if err != nil {
			return err
		}
		if !ok {
			return w.finish(current)
		}
		empty := line == "" // a line of spaces does not end a cue
		line = strings.TrimSpace(line)
		start, end, timed := cueTimes(line)
		switch {
		case timed:
			if last := len(current.lines) - 1; !webVTT && last >= 0 && isNumber(current.lines[last]) {
				current.lines = current.lines[:last] // the new cue's number
			}
			if err := w.add(current); err != nil {
				return err
			}
			current, between = cue{start: start, end: end, timed: true}, false
		case empty && webVTT:
			between = true
		case line == "":
		case between:
			if name, value, ok := strings.Cut(line, ":"); ok && !current.timed && strings.EqualFold(name, "language") && p.Doc.Language == "" {
				p.Doc.Language = strings.TrimSpace(value)
			}
		case len(current.lines) < maxCueLines:
			current.lines = append(current.lines, line)
		default:
			p.Out.Warn(fmt.Sprintf("cues with more than %d lines were cut; the file may be damaged", maxCueLines))
		}
	}
}

const (
	// maxCueLines is the maximum number of lines in a cue.
	maxCueLines = 200
	// minParagraph is the size, in bytes, that a paragraph must reach before it may end at a complete sentence.
	minParagraph = 400
	// maxParagraph is the size, in bytes, at which a paragraph ends even in mid-sentence.
	maxParagraph = 1200
	// maxPause is the longest pause within a paragraph.
	maxPause = 4 * time.Second
	// maxSpan is the maximum duration of a paragraph, unless a sentence is unfinished.
	maxSpan = 45 * time.Second
)

// cue is a text and the time when it is shown.
type cue struct {
	timed      bool // false for lines before the first cue
	start, end time.Duration
	lines      []string
}

// times matches a cue's first line. Hours are optional in WebVTT; SubRip has a comma before the milliseconds.
var times = lazyregexp.New(`^(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?\s*-->\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?(?:\s|$)`)

// cueTimes returns the start and end times from a cue's first line.
func cueTimes(line string) (start, end time.Duration, ok bool) {
	if !strings.Contains(line, "-->") {
		return 0, 0, false
	}
	m := times().FindStringSubmatch(line)
	if m == nil {
		return 0, 0, false
	}
	return duration(m[1:5]), duration(m[5:9]), true
}

// duration converts hours, minutes, seconds and the digits of a fraction to a duration. All of them are short enough to
// fit in an int.
func duration(parts []string) time.Duration {
	var d time.Duration
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi(parts[i]) // "" is 0
		d += time.Duration(n) * unit
	}
	millis, _ := strconv.Atoi((parts[3] + "000")[:3])
	return d + time.Duration(millis)*time.Millisecond
}

// clock formats a time as HH:MM:SS.
func clock(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

func isNumber(s string) bool { return s != "" && len(s) <= 9 && strings.Trim(s, "0123456789") == "" }

// writer joins cues into paragraphs, which end at a pause, a speaker change, or the end of a sentence.
type writer struct {
	p          *format.Parser
	text       strings.Builder
	start, end time.Duration
	speaker    string // speaker of the last cue
	last       string // last line of the last cue
}

func (w *writer) add(c cue) error {
	if !c.timed {
		return nil
	}
	for _, line := range c.lines {
		for _, said := range voices(line) {
			if said.text == "" || said.text == w.last && c.start-w.end < maxPause {
				continue // rolling captions repeat each line while the next one is spoken
			}
			w.last = said.text
			if err := w.say(said, c); err != nil {
				return err
			}
		}
	}
	w.end = max(w.end, c.end)
	return nil
}

func (w *writer) say(said utterance, c cue) error {
	turn := said.speaker != "" && said.speaker != w.speaker
	size := w.text.Len()
	if size > 0 && (turn || c.start-w.end > maxPause || c.start < w.start || size >= maxParagraph ||
		(size >= minParagraph || c.start-w.start >= maxSpan) && endsSentence(w.text.String())) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.text.Len() == 0 {
		w.start, w.end = c.start, c.end
		if said.speaker != "" {
			w.text.WriteString(said.speaker + ": ")
		}
	} else if isDialogue(said.text) {
		w.text.WriteByte('\n')
	} else {
		w.text.WriteByte(' ')
	}
	w.speaker = said.speaker
	w.text.WriteString(said.text)
	return nil
}

func (w *writer) flush() error {
	text := w.text.String()
	w.text.Reset()
	return w.p.Out.Add(domain.Block{Kind: domain.BlockParagraph, Text: text, Time: clock(w.start)})
}

func (w *writer) finish(c cue) error {
	if err := w.add(c); err != nil {
		return err
	}
	return w.flush()
}

// endsSentence reports whether text ends with a complete sentence, possibly in quotation marks or brackets.
func endsSentence(s string) bool {
	s = strings.TrimRight(s, `"'”’»)]`)
	for _, end := range []string{".", "?", "!", "…", "。", "？", "！", "؟", "।", "♪"} {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

// isDialogue reports whether a line starts with a dash or another sign of a new speaker.
func isDialogue(s string) bool {
	return strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "– ") || strings.HasPrefix(s, "— ") || strings.HasPrefix(s, ">>")
}
