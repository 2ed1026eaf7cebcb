package subtitle

import (
	"html"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
)

// utterance is a text and its speaker. The speaker is "" if the file does not name one.
type utterance struct{ speaker, text string }

// voices splits a line at its voice tags (<v Ann>) and removes other markup: WebVTT and HTML tags, word times
// (<00:00:01.500>), and SubStation Alpha override tags ({\an8}), which are common in SubRip files.
func voices(line string) []utterance {
	var said []utterance
	var text strings.Builder
	speaker, hidden := "", 0
	end := func() {
		if s := format.OneLine(html.UnescapeString(text.String())); s != "" {
			said = append(said, utterance{speaker, s})
		}
		text.Reset()
	}
	for line != "" {
		at := strings.IndexAny(line, "<{")
		if at < 0 {
			text.WriteString(visible(line, hidden))
			break
		}
		text.WriteString(visible(line[:at], hidden))
		line = line[at:]
		if line[0] == '{' {
			instruction, rest, closed := strings.Cut(line[1:], "}")
			if !closed || !strings.HasPrefix(instruction, `\`) {
				text.WriteString(visible("{", hidden))
				line = line[1:]
				continue
			}
			line = rest
			continue
		}
		tag, rest, closed := strings.Cut(line[1:], ">")
		if !closed || !isTag(tag) {
			text.WriteString(visible("<", hidden))
			line = line[1:]
			continue
		}
		line = rest
		name, annotation, _ := strings.Cut(tag, " ")
		name, _, _ = strings.Cut(strings.ToLower(name), ".")
		switch name {
		case "v":
			end()
			speaker = format.Cut(format.OneLine(html.UnescapeString(annotation)), maxSpeaker)
		case "/v":
			end()
			speaker = ""
		case "rt":
			hidden++
		case "/rt":
			hidden = max(hidden-1, 0)
		case "br", "br/":
			text.WriteByte(' ')
		}
	}
	end()
	return said
}

// maxSpeaker is the maximum length of a speaker's name in bytes.
const maxSpeaker = 100

// visible returns s, or "" if s is inside a reading (ruby text). `hidden` is the number of open tags for readings.
func visible(s string, hidden int) string {
	if hidden > 0 {
		return ""
	}
	return s
}

// isTag reports whether the text between angle brackets is a tag or a time rather than part of a sentence.
func isTag(s string) bool {
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return true
	}
	if c := s[0]; c >= '0' && c <= '9' {
		return strings.Trim(s, "0123456789:.,") == ""
	}
	name, _, _ := strings.Cut(s, " ")
	name, _, _ = strings.Cut(name, ".")
	switch strings.ToLower(strings.TrimSuffix(name, "/")) {
	case "v", "c", "i", "b", "u", "s", "ruby", "rt", "lang", "font", "br", "span", "em", "strong", "p":
		return true
	}
	return false
}
