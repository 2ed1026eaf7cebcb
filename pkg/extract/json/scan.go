package json

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// token is one of the characters {}[]:, or one of the constants below.
type token byte

const (
	end        token = 0   // end of the text
	jsonString token = '"' // a string; its text is decoded
	word       token = 'w' // a number, true, false, null, or a name without quotation marks, as written
)

// maxJSONString is the maximum size of a string in bytes. Longer strings are truncated.
const maxJSONString = 4 << 20

// syntaxError says where and why a text is not valid JSON.
type syntaxError struct {
	line int
	what string
	text string // the invalid word, already read
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s on line %d", e.what, e.line) }

// scanner splits text into JSON tokens. It accepts common extensions: comments, single-quoted strings, and unquoted
// names. Numbers are kept as written.
type scanner struct {
	r    *bufio.Reader
	line int // line number of the last token, from 1
	text []byte
	cut  bool // a string was longer than maxJSONString
}

func newJSONScanner(r *bufio.Reader) *scanner { return &scanner{r: r, line: 1} }

// next returns the next token. The text of a string or word is in s.text until the next call.
func (s *scanner) next() (token, error) {
	for {
		c, err := s.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, fmt.Errorf("reading the file: %w", err)
		}
		switch c {
		case '\n':
			s.line++
		case ' ', '\t', '\r', 0, 0x1e: // 0x1e separates records in RFC 7464
		case '{', '}', '[', ']', ':', ',':
			return token(c), nil
		case '"', '\'':
			return jsonString, s.quoted(c)
		case '/':
			if err := s.comment(); err != nil {
				return end, err
			}
		default:
			return word, s.word(c)
		}
	}
}

// isEmpty reports whether the object or array that just started is empty or the text ends there. It skips white space
// but not the closing bracket.
func (s *scanner) isEmpty() bool {
	for {
		c, err := s.r.Peek(1)
		switch {
		case err != nil:
			return true
		case c[0] == ' ' || c[0] == '\t' || c[0] == '\r' || c[0] == '\n':
			if c[0] == '\n' {
				s.line++
			}
			_, _ = s.r.Discard(1) // cannot fail: Peek just returned this byte
		default:
			return c[0] == '}' || c[0] == ']'
		}
	}
}

// comment skips a comment whose first slash has been read.
func (s *scanner) comment() error {
	kind, err := s.r.ReadByte()
	if err != nil || kind != '/' && kind != '*' {
		return &syntaxError{line: s.line, what: "a slash that does not begin a comment"}
	}
	before := byte(0)
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return nil
		}
		if c == '\n' {
			s.line++
		}
		if kind == '/' && c == '\n' || kind == '*' && before == '*' && c == '/' {
			return nil
		}
		before = c
	}
}

// word reads a number, a literal or a name. `first` is its first byte.
func (s *scanner) word(first byte) error {
	s.text = append(s.text[:0], first)
	for len(s.text) < 1<<10 {
		c, err := s.r.ReadByte()
		if err != nil {
			break
		}
		if strings.IndexByte(" \t\r\n{}[]:,\"'/\x1e", c) >= 0 {
			_ = s.r.UnreadByte() // a byte was just read
			break
		}
		s.text = append(s.text, c)
	}
	if !isJSONWord(s.text) {
		return &syntaxError{line: s.line, what: "unknown value", text: string(s.text)}
	}
	return nil
}

// isJSONWord reports whether the bytes can be a number or a name.
func isJSONWord(b []byte) bool {
	for _, c := range b {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '$', c >= utf8.RuneSelf:
		case c >= '0' && c <= '9':
		case (c == '-' || c == '+') && len(b) > 1:
		case c == '.' && len(b) > 1:
		default:
			return false
		}
	}
	return true
}

// isJSONValue reports whether a word is a value in JSON or JavaScript.
func isJSONValue(word []byte) bool {
	switch string(word) {
	case "true", "false", "null", "NaN", "Infinity", "-Infinity", "undefined", "True", "False", "None":
		return true
	}
	digits := false
	for _, c := range word {
		if c >= '0' && c <= '9' {
			digits = true
		}
	}
	first := word[0]
	return digits && (first >= '0' && first <= '9' || first == '-' || first == '+' || first == '.')
}

// quoted reads a string up to its closing quotation mark, after the opening one.
func (s *scanner) quoted(quote byte) error {
	s.text = s.text[:0]
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		switch c {
		case quote:
			return nil
		case '\n':
			s.line++
		case '\\':
			if err := s.escape(); err != nil {
				return err
			}
			continue
		}
		s.appendText(c)
	}
}

func (s *scanner) appendText(b ...byte) {
	if len(s.text) < maxJSONString {
		s.text = append(s.text, b...)
		return
	}
	s.cut = true
}

func (s *scanner) escape() error {
	c, err := s.r.ReadByte()
	if err != nil {
		return io.ErrUnexpectedEOF
	}
	switch c {
	case 'n':
		s.appendText('\n')
	case 't':
		s.appendText('\t')
	case 'r', 'b', 'f':
		s.appendText(' ')
	case 'u':
		r, ok := s.hex()
		if !ok {
			s.appendText('\\', 'u')
			return nil
		}
		if utf16.IsSurrogate(r) {
			if next, err := s.r.Peek(2); err == nil && string(next) == `\u` {
				_, _ = s.r.Discard(2) // cannot fail: Peek just returned these bytes
				low, _ := s.hex()
				r = utf16.DecodeRune(r, low)
			}
		}
		s.appendText(utf8.AppendRune(nil, r)...)
	case '\n':
		s.line++
	default:
		s.appendText(c)
	}
	return nil
}

// hex reads an escaped character's four hexadecimal digits.
func (s *scanner) hex() (rune, bool) {
	digits, err := s.r.Peek(4)
	if err != nil {
		return utf8.RuneError, false
	}
	n, err := strconv.ParseUint(string(digits), 16, 32)
	if err != nil {
		return utf8.RuneError, false
	}
	_, _ = s.r.Discard(4) // cannot fail: Peek just returned these bytes
	return rune(n), true
}
