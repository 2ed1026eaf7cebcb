package pdfobject

import (
	"slices"
	"strconv"
	"strings"
)

// Scanner reads the operands and operators of content streams and CMaps. It accepts any bytes and always reaches End.
type Scanner struct {
	data    []byte
	pos     int
	objects bool // the data holds a file's objects, which may contain references
	count   int  // items in all groups of the value being read

	open []Token // items in groups not closed yet
	text []byte  // buffer for the string being read
}

// NewScanner returns a scanner for a content stream or CMap.
func NewScanner(data []byte) *Scanner { return &Scanner{data: data} }

// maxItems is the maximum total number of items in a value's arrays and dictionaries. Each item takes about 60 bytes.
const maxItems = 2_000_000

// maxDepth is the maximum nesting depth of values, and of objects that have to be loaded to read another one.
const maxDepth = 64

// Kind is the type of a token: an operand type, an operator, or the end of the data.
type Kind byte

// The kinds of tokens.
const (
	End Kind = iota // end of the data
	Number
	String
	Name
	Array
	Dict
	Operator
	Bool // Num is 1 for true
	Null
	Ref // reference to object Num; only in a file's objects
)

// Token is an operand or operator. The items of a Dict are alternately keys and values.
type Token struct {
	Kind  Kind
	Num   float64
	Str   string
	Items []Token
}

// Key returns the value of a Dict's key, or a Null token if there is none.
func (t Token) Key(name string) Token {
	if t.Kind == Dict {
		for i := 0; i+1 < len(t.Items); i += 2 {
			if t.Items[i].Kind == Name && t.Items[i].Str == name {
				return t.Items[i+1]
			}
		}
	}
	return Token{Kind: Null}
}

// integer returns a number's integer part, or 0 for other kinds and for numbers outside int32.
func (t Token) integer() int {
	if t.Kind != Number || t.Num < -1<<31 || t.Num >= 1<<31 {
		return 0
	}
	return int(t.Num)
}

// Next returns the next token.
func (t *Scanner) Next() Token {
	t.count = 0
	return t.read(0)
}

func (t *Scanner) read(depth int) Token {
	t.space()
	if t.pos >= len(t.data) {
		return Token{}
	}
	c := t.data[t.pos]
	switch {
	case c == '(':
		return t.literal()
	case c == '<' && t.peek(1) == '<':
		t.pos += 2
		return t.group(Dict, depth)
	case c == '<':
		return t.hex()
	case c == '[':
		t.pos++
		return t.group(Array, depth)
	case c == '/':
		t.pos++
		return Token{Kind: Name, Str: t.name()}
	case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.':
		return t.number()
	case c == ')' || c == ']' || c == '{' || c == '}':
		t.pos++
		return Token{Kind: Operator, Str: operator(t.data[t.pos-1 : t.pos])}
	case c == '>':
		t.pos++
		if t.peek(0) == '>' {
			t.pos++
		}
		return Token{Kind: Operator, Str: ">>"}
	}
	start := t.pos
	for t.pos < len(t.data) && isRegular(t.data[t.pos]) {
		t.pos++
	}
	if t.pos == start {
		t.pos++
	}
	switch word := t.data[start:t.pos]; string(word) {
	case "true":
		return Token{Kind: Bool, Num: 1}
	case "false":
		return Token{Kind: Bool}
	case "null":
		return Token{Kind: Null}
	default:
		return Token{Kind: Operator, Str: operator(word)}
	}
}

// operators interns the names of common operators.
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

func (t *Scanner) peek(n int) byte {
	if t.pos+n < len(t.data) {
		return t.data[t.pos+n]
	}
	return 0
}

func (t *Scanner) space() {
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

func isRegular(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return false
	}
	return !isSpace(c)
}

// group reads an array or dictionary up to its closing bracket. If the bracket is missing, the group ends before an
// operator that can't be inside a group, such as ET or endobj. Other operators are ignored.
func (t *Scanner) group(kind Kind, depth int) Token {
	first := len(t.open)
	t.appendItems(kind, depth, first)
	g := Token{Kind: kind}
	if len(t.open) > first {
		g.Items = slices.Clone(t.open[first:])
	}
	t.open = t.open[:first]
	return g
}

// appendItems appends a group's items to t.open, where they start at index `first`.
func (t *Scanner) appendItems(kind Kind, depth, first int) {
	for t.count < maxItems {
		if depth > maxDepth {
			return
		}
		item := t.read(depth + 1)
		if item.Kind == End {
			return
		}
		if item.Kind == Operator {
			if item.Str == "]" && kind == Array || item.Str == ">>" && kind == Dict {
				return
			}
			if t.closesGroup(item.Str) {
				t.pos -= len(item.Str)
				return
			}
			if n := len(t.open); item.Str == "R" && t.objects && n-first >= 2 && t.open[n-2].Kind == Number {
				t.open = append(t.open[:n-2], Token{Kind: Ref, Num: t.open[n-2].Num})
			}
			continue
		}
		t.open = append(t.open, item)
		t.count++
	}
}

// closesGroup reports whether an operator shows that the group was never closed.
func (t *Scanner) closesGroup(op string) bool {
	if t.objects {
		return op == "endobj" || op == "stream" || op == "obj"
	}
	return op == "Tj" || op == "TJ" || op == "ET"
}

func (t *Scanner) number() Token {
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
		return Token{Kind: Number, Num: f}
	}
	// Some programs write "--5" or "0.-3". Drop all leading signs except the last. If another minus sign follows later,
	// drop it and everything after it.
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
	return Token{Kind: Number, Num: f}
}

// plainNumber reads digits with at most one leading sign and one decimal point.
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

func (t *Scanner) name() string {
	start := t.pos
	escaped := false
	for t.pos < len(t.data) && isRegular(t.data[t.pos]) {
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

func (t *Scanner) hex() Token { return Token{Kind: String, Str: string(t.hexBytes())} }

// hexBytes reads a hexadecimal string in angle brackets. The last digit may be missing. The result is only valid until
// the next string is read.
func (t *Scanner) hexBytes() []byte {
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

func (t *Scanner) literal() Token {
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
				return Token{Kind: String, Str: string(out)}
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
	return Token{Kind: String, Str: string(out)}
}

// escape reads an escape sequence in a string, after its backslash.
func (t *Scanner) escape(out []byte) []byte {
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

// SkipImage skips an inline image's data, which may contain any bytes. Call it after reading the ID operator.
func (t *Scanner) SkipImage() {
	for i := t.pos; i+2 < len(t.data); i++ {
		if t.data[i] == 'E' && t.data[i+1] == 'I' && isSpace(t.data[max(i-1, 0)]) && (isSpace(t.data[i+2])) && looksLikeOperators(t.data[i+2:min(len(t.data), i+32)]) {
			t.pos = i + 2
			return
		}
	}
	t.pos = len(t.data)
}

// looksLikeOperators reports whether bytes look like operators rather than image data.
func looksLikeOperators(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c >= 0x7f || c < 0x20 && !isSpace(c) })
}
