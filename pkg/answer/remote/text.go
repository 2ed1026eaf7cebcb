package remote

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Text is text from one event, still encoded as JSON. Servers that send an answer token by token may split a character:
// one event ends with the first half of a surrogate pair or UTF-8 sequence, and the next begins with the second half.
// Decoded separately, both halves would be lost, so they stay encoded until Joiner has both.
type Text struct {
	encoded []byte // content of the JSON string, without its quotes
	Thought bool   // whether the event also contained reasoning, which is omitted
}

// UnmarshalJSON implements json.Unmarshaler. It accepts a string, null, and the list of parts that some gateways send.
func (t *Text) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case 'n': // null
	case '"':
		t.encoded = append(t.encoded, raw[1:len(raw)-1]...)
	case '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			if err := t.addPart(p); err != nil {
				return err
			}
		}
	default:
		return &json.UnmarshalTypeError{Value: "text of an answer", Type: reflect.TypeFor[Text]()}
	}
	return nil
}

// addPart adds the text from one element of a list. Only elements of type text have text. Other elements, such as
// Mistral's references, are ignored.
func (t *Text) addPart(raw []byte) error {
	if raw[0] != '{' {
		return t.UnmarshalJSON(raw)
	}
	var p struct {
		Text     Text            `json:"text"`
		Refusal  Text            `json:"refusal"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	t.encoded = append(append(t.encoded, p.Text.encoded...), p.Refusal.encoded...)
	t.Thought = t.Thought || p.Thinking != nil
	return nil
}

// Joiner decodes one answer's Texts in order. The zero value is ready for use.
type Joiner struct {
	partial []byte // first half of a character, still encoded as JSON
}

// Next returns the text that is complete so far. It holds back the first half of a character.
func (j *Joiner) Next(t Text) string {
	if len(t.encoded) == 0 {
		return ""
	}
	whole := append(j.partial, t.encoded...)
	cut := len(whole) - partialCharacter(whole)
	text := decoded(whole[:cut])
	j.partial = bytes.Clone(whole[cut:])
	return text
}

// Close returns U+FFFD if the answer ended in the middle of a character, and "" otherwise.
func (j *Joiner) Close() string {
	text := decoded(j.partial)
	j.partial = nil
	return text
}

// partialCharacter returns the number of bytes at the end of a JSON string that are the first half of a character.
func partialCharacter(s []byte) int {
	const escape = len(`\ud83d`)
	if at := len(s) - escape; at >= 0 && s[at] == '\\' && s[at+1] == 'u' && (s[at+2]|0x20) == 'd' && strings.IndexByte("89abAB", s[at+3]) >= 0 {
		backslashes := len(s[:at+1]) - len(bytes.TrimRight(s[:at+1], `\`))
		if backslashes%2 == 1 { // otherwise the backslash itself is escaped
			return escape
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if last := s[len(s)-n:]; utf8.RuneStart(last[0]) {
			if last[0] >= utf8.RuneSelf && !utf8.FullRune(last) {
				return n
			}
			break
		}
	}
	return 0
}

// decoded decodes a JSON string's content. Invalid bytes become U+FFFD.
func decoded(inside []byte) string {
	if len(inside) == 0 {
		return ""
	}
	quoted := append(append(append(make([]byte, 0, len(inside)+2), '"'), inside...), '"')
	var text string
	if json.Unmarshal(quoted, &text) != nil { // cannot happen, because the content comes from a valid string
		return ""
	}
	return text
}
