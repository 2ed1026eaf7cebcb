package pdftext

import (
	"slices"
	"strconv"
	"strings"
)

// A tokenizer reads the operands and operators of content streams and CMaps. It accepts anything and always ends.
type tokenizer struct {
	data    []byte
	pos     int
	objects bool // it reads objects of a file, which refer to others
	items   int  // of the groups in the value that is being read

	open []token // items of groups that are not closed yet
	text []byte  // of the string that is being read
}

// maxItems bounds the items of all groups in one value, one inside another: each takes some 60 bytes.
const maxItems = 2_000_000

type tokenKind byte

const (
	tokEnd tokenKind = iota
	tokNumber
	tokString
	tokName
	tokArray
	tokDict
	tokOperator
	tokBool // num is 1 for true
	tokNull
	tokRef // to object num; only where a tokenizer reads objects
)

// token is an operand or operator. A dict's items alternate keys and values.
type token struct {
	kind  tokenKind
	num   float64
	str   string
	items []token
}

// key is the value of a dict's key, a null token where there is none.
func (t token) key(name string) token {
	if t.kind == tokDict {
		for i := 0; i+1 < len(t.items); i += 2 {
			if t.items[i].kind == tokName && t.items[i].str == name {
				return t.items[i+1]
			}
		}
	}
	return token{kind: tokNull}
}

// integer is a number without its fraction, 0 for other kinds and for what no int32 holds.
func (t token) integer() int {
	if t.kind != tokNumber || t.num < -1<<31 || t.num >= 1<<31 {
		return 0
	}
	return int(t.num)
}

// next returns the next token; tokEnd at the end.
func (t *tokenizer) next() token {
	t.items = 0
	return t.read(0)
}

func (t *tokenizer) read(depth int) token {
	t.space()
	if t.pos >= len(t.data) {
		return token{}
	}
	c := t.data[t.pos]
	switch {
	case c == '(':
		return t.literal()
	case c == '<' && t.peek(1) == '<':
		t.pos += 2
		return t.group(tokDict, depth)
	case c == '<':
		return t.hex()
	case c == '[':
		t.pos++
		return t.group(tokArray, depth)
	case c == '/':
		t.pos++
		return token{kind: tokName, str: t.name()}
	case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.':
		return t.number()
	case c == ')' || c == ']' || c == '{' || c == '}':
		t.pos++
		return token{kind: tokOperator, str: operator(t.data[t.pos-1 : t.pos])}
	case c == '>':
		t.pos++
		if t.peek(0) == '>' {
			t.pos++
		}
		return token{kind: tokOperator, str: ">>"}
	}
	start := t.pos
	for t.pos < len(t.data) && regular(t.data[t.pos]) {
		t.pos++
	}
	if t.pos == start {
		t.pos++
	}
	switch word := t.data[start:t.pos]; string(word) {
	case "true":
		return token{kind: tokBool, num: 1}
	case "false":
		return token{kind: tokBool}
	case "null":
		return token{kind: tokNull}
	default:
		return token{kind: tokOperator, str: operator(word)}
	}
}

// operators are those that pages are full of; their names are made once.
var operators = func() map[string]string {
	known := make(map[string]string)
	for name := range strings.FieldsSeq(`) ] { } R q Q cm w J j M d ri i gs m l c v y h re S s f F f* B B* b b* n W W* BT ET Tc Tw Tz TL Tf Tr Ts Td TD Tm T* Tj TJ ' "
		CS cs SC SCN sc scn G g RG rg K k sh BI ID EI Do MP DP BMC BDC EMC BX EX obj endobj stream`) {
		known[name] = name
	}
	return known
}()

func operator(word []byte) string {
	if name, ok := operators[string(word)]; ok {
		return name
	}
	return string(word)
}

func (t *tokenizer) peek(n int) byte {
	if t.pos+n < len(t.data) {
		return t.data[t.pos+n]
	}
	return 0
}

func (t *tokenizer) space() {
	for t.pos < len(t.data) {
		switch c := t.data[t.pos]; {
		case isSpace(c):
			t.pos++
		case c == '%':
			for t.pos < len(t.data) && t.data[t.pos] != '\n' && t.data[t.pos] != '\r' {
				t.pos++
			}
		default:
			return
		}
	}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func regular(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return false
	}
	return !isSpace(c)
}

// group reads up to the closing bracket. Operators inside are dropped, except those that end a broken group.
func (t *tokenizer) group(kind tokenKind, depth int) token {
	first := len(t.open)
	t.gather(kind, depth, first)
	g := token{kind: kind}
	if len(t.open) > first {
		g.items = slices.Clone(t.open[first:])
	}
	t.open = t.open[:first]
	return g
}

// gather reads the items of a group into open, from index first on.
func (t *tokenizer) gather(kind tokenKind, depth, first int) {
	for t.items < maxItems {
		if depth > maxDepth {
			return
		}
		item := t.read(depth + 1)
		if item.kind == tokEnd {
			return
		}
		if item.kind == tokOperator {
			if item.str == "]" && kind == tokArray || item.str == ">>" && kind == tokDict {
				return
			}
			if t.ends(item.str) {
				t.pos -= len(item.str)
				return
			}
			if n := len(t.open); item.str == "R" && t.objects && n-first >= 2 && t.open[n-2].kind == tokNumber {
				t.open = append(t.open[:n-2], token{kind: tokRef, num: t.open[n-2].num})
			}
			continue
		}
		t.open = append(t.open, item)
		t.items++
	}
}

// ends reports whether an operator shows that a group was never closed.
func (t *tokenizer) ends(op string) bool {
	if t.objects {
		return op == "endobj" || op == "stream" || op == "obj"
	}
	return op == "Tj" || op == "TJ" || op == "ET"
}

func (t *tokenizer) number() token {
	start := t.pos
	t.pos++
	for t.pos < len(t.data) {
		c := t.data[t.pos]
		if c >= '0' && c <= '9' || c == '.' || c == '-' {
			t.pos++
			continue
		}
		break
	}
	s := t.data[start:t.pos]
	if f, ok := plainNumber(s); ok {
		return token{kind: tokNumber, num: f}
	}
	// Broken writers produce "--5" and "0.-3"; take the digits up to the fault.
	for len(s) > 1 && (s[1] == '-' || s[1] == '+') {
		s = s[1:]
	}
	for i := 1; i < len(s); i++ {
		if s[i] == '-' {
			s = s[:i]
			break
		}
	}
	f, _ := strconv.ParseFloat(string(s), 64) // an invalid number counts as 0
	return token{kind: tokNumber, num: f}
}

// plainNumber reads digits with at most one sign in front and one point.
func plainNumber(s []byte) (float64, bool) {
	neg := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	if len(s) > 15 {
		f, err := strconv.ParseFloat(string(s), 64)
		if neg {
			f = -f
		}
		return f, err == nil
	}
	var mantissa, scale int64 = 0, 0
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9':
			mantissa = mantissa*10 + int64(c-'0')
			scale *= 10
		case c == '.' && scale == 0:
			scale = 1
		default:
			return 0, false
		}
	}
	f := float64(mantissa)
	if scale > 0 {
		f /= float64(scale)
	}
	if neg {
		f = -f
	}
	return f, true
}

func (t *tokenizer) name() string {
	start := t.pos
	escaped := false
	for t.pos < len(t.data) && regular(t.data[t.pos]) {
		escaped = escaped || t.data[t.pos] == '#'
		t.pos++
	}
	raw := t.data[start:t.pos]
	if !escaped {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] == '#' && i+2 < len(raw) {
			if v, err := strconv.ParseUint(string(raw[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(v))
				i += 2
				continue
			}
		}
		out = append(out, raw[i])
	}
	return string(out)
}

func (t *tokenizer) hex() token { return token{kind: tokString, str: string(t.hexBytes())} }

// hexBytes reads <digits>; the last digit may be missing. The result is valid until the next string is read.
func (t *tokenizer) hexBytes() []byte {
	t.pos++
	out := t.text[:0]
	defer func() { t.text = out }()
	half := -1
	for t.pos < len(t.data) {
		c := t.data[t.pos]
		t.pos++
		if c == '>' {
			break
		}
		v := hexDigit(c)
		if v < 0 {
			continue
		}
		if half < 0 {
			half = v
			continue
		}
		out = append(out, byte(half<<4|v))
		half = -1
	}
	if half >= 0 {
		out = append(out, byte(half<<4))
	}
	return out
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (t *tokenizer) literal() token {
	t.pos++
	out := t.text[:0]
	defer func() { t.text = out }()
	for open := 1; t.pos < len(t.data); {
		c := t.data[t.pos]
		t.pos++
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return token{kind: tokString, str: string(out)}
			}
		case '\\':
			out = t.escape(out)
			continue
		case '\r':
			if t.peek(0) == '\n' {
				t.pos++
			}
			c = '\n'
		}
		out = append(out, c)
	}
	return token{kind: tokString, str: string(out)}
}

// escape reads what follows a backslash in a string.
func (t *tokenizer) escape(out []byte) []byte {
	if t.pos >= len(t.data) {
		return out
	}
	c := t.data[t.pos]
	t.pos++
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case '\r':
		if t.peek(0) == '\n' {
			t.pos++
		}
		return out
	case '\n':
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	v := int(c - '0')
	for i := 0; i < 2 && t.peek(0) >= '0' && t.peek(0) <= '7'; i++ {
		v = v*8 + int(t.data[t.pos]-'0')
		t.pos++
	}
	return append(out, byte(v))
}
