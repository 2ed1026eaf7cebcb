package api_test

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// This file imitates fetch-event-source, a client library that splits a stream, arriving in chunks of any size, into
// lines and messages. The server must work around two of its quirks: it drops an empty first line of a message's data,
// and it decodes each value separately, which strips a leading byte order mark.

// message is a message as passed to the client's onmessage callback.
type message struct{ event, data string }

// parseStream feeds the stream to the parser in chunks of the given size.
func parseStream(stream []byte, chunk int) []message {
	p := streamParser{fieldLength: -1}
	for len(stream) > 0 {
		n := min(chunk, len(stream))
		p.chunk(stream[:n])
		stream = stream[n:]
	}
	return p.messages
}

type streamParser struct {
	buffer                 []byte
	position               int // position of the next byte to read
	fieldLength            int // length of the field name in the current line; -1 until the colon is found
	discardTrailingNewline bool

	current  message
	messages []message
}

// chunk splits the stream into lines, as the library's getLines does.
func (p *streamParser) chunk(b []byte) {
	if p.buffer == nil {
		p.buffer, p.position, p.fieldLength = append([]byte{}, b...), 0, -1
	} else {
		p.buffer = append(p.buffer, b...)
	}
	lineStart := 0
	for p.position < len(p.buffer) {
		if p.discardTrailingNewline {
			if p.buffer[p.position] == '\n' {
				p.position++
				lineStart = p.position
			}
			p.discardTrailingNewline = false
		}
		lineEnd := -1
		for ; p.position < len(p.buffer) && lineEnd == -1; p.position++ {
			switch p.buffer[p.position] {
			case ':':
				if p.fieldLength == -1 {
					p.fieldLength = p.position - lineStart
				}
			case '\r':
				p.discardTrailingNewline = true
				lineEnd = p.position
			case '\n':
				lineEnd = p.position
			}
		}
		if lineEnd == -1 {
			break
		}
		p.line(p.buffer[lineStart:lineEnd], p.fieldLength)
		lineStart = p.position
		p.fieldLength = -1
	}
	if lineStart == len(p.buffer) {
		p.buffer = nil
	} else if lineStart != 0 {
		p.buffer = p.buffer[lineStart:]
		p.position -= lineStart
	}
}

// line processes one line, as the library's getMessages does.
func (p *streamParser) line(line []byte, fieldLength int) {
	if len(line) == 0 {
		p.messages = append(p.messages, p.current)
		p.current = message{}
		return
	}
	if fieldLength <= 0 {
		return // a comment or an empty line
	}
	field := decode(line[:fieldLength])
	offset := fieldLength + 1
	if fieldLength+1 < len(line) && line[fieldLength+1] == ' ' {
		offset = fieldLength + 2
	}
	value := decode(line[offset:])
	switch field {
	case "data":
		if p.current.data != "" {
			p.current.data += "\n" + value
		} else {
			p.current.data = value
		}
	case "event":
		p.current.event = value
	}
}

// decode works like TextDecoder.decode: it removes a byte order mark and replaces invalid UTF-8.
func decode(b []byte) string {
	s := strings.TrimPrefix(string(b), "\ufeff")
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// conversationClient processes an answer's messages like a typical chat client.
type conversationClient struct {
	answer, response string
	done             bool
	err              string
}

func (c *conversationClient) take(messages []message) {
	for _, m := range messages {
		switch {
		case m.data == "[DONE]":
			c.done = true
		case strings.HasPrefix(m.data, "[ERROR]"):
			c.err = m.data
		case m.event == "answer":
			c.answer += m.data
		case m.event == "endpoint_response":
			c.response += m.data
		}
	}
}

func TestStreamParser(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		want   []message
	}{
		"a message ends with an empty line":           {"event: answer\ndata: a\n\n", []message{{"answer", "a"}}},
		"one space after the colon goes":              {"data:  a\n\ndata:b\n\n", []message{{"", " a"}, {"", "b"}}},
		"lines of data are joined":                    {"data: a\ndata: \ndata: b\n\n", []message{{"", "a\n\nb"}}},
		"an empty first line is lost":                 {"data: \ndata: b\n\n", []message{{"", "b"}}},
		"CR and CRLF end lines":                       {"data: a\r\rdata: b\r\n\r\n", []message{{"", "a"}, {"", "b"}}},
		"a comment is skipped, its empty line is not": {": hi\n\n", []message{{"", ""}}},
		"a message without its end is not given":      {"data: a\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for chunk := 1; chunk <= len(c.stream); chunk++ {
				got := parseStream([]byte(c.stream), chunk)
				if len(got) != len(c.want) {
					t.Fatalf("chunks of %d: %q, want %q", chunk, got, c.want)
				}
				for i := range got {
					if got[i] != c.want[i] {
						t.Errorf("chunks of %d: %q, want %q", chunk, got, c.want)
					}
				}
			}
		})
	}
}
