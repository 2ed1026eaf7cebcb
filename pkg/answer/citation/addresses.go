package citation

import (
	"net/url"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// knownAddresses are the web addresses in a prompt, collected on the first lookup.
type knownAddresses struct {
	collect  func() (texts []string, sources []domain.Fragment)
	once     sync.Once
	inPrompt map[string]bool // addresses without scheme and trailing slash
	hosts    map[string]bool // the sources' hosts
}

// Maximum number of addresses collected from a prompt.
const maxAddresses = 10_000

const (
	quotes   = "\"'`"
	trailing = ".,;:!?*_~'\"`)]}>|" // at the end of an address, these belong to the surrounding sentence
)

// schemeOrWWW matches the start of a web address.
var schemeOrWWW = lazyregexp.New(`(?i)https?://|www\.`)

// addressesOf returns all addresses in a prompt, including its instructions, documents, history and question.
func addressesOf(p chat.Prompt) *knownAddresses {
	return &knownAddresses{collect: func() ([]string, []domain.Fragment) {
		texts := []string{p.System}
		for _, m := range p.Messages {
			texts = append(texts, m.Text)
		}
		for _, f := range p.Fragments {
			page, _, _ := strings.Cut(f.Source, "#") // an address with a #fragment also permits the address without it
			texts = append(texts, f.Source, page, f.Text)
		}
		return texts, p.Fragments
	}}
}

// has reports whether the address was in the prompt. http and https count as equal.
func (a *knownAddresses) has(address string) bool {
	a.once.Do(a.read)
	return a.inPrompt[key(address)]
}

// isOfSource reports whether the address was in the prompt and is on a source's host.
func (a *knownAddresses) isOfSource(address string) bool {
	return a.has(address) && a.hosts[hostOf(address)]
}

func (a *knownAddresses) read() {
	a.inPrompt, a.hosts = make(map[string]bool), make(map[string]bool)
	texts, sources := a.collect()
	a.collect = nil
	for _, text := range texts {
		for _, at := range schemeOrWWW().FindAllStringIndex(text, -1) {
			if len(a.inPrompt) >= maxAddresses {
				return
			}
			n, _ := addressRun(text[at[1]:])
			if address := cutAddress(text[at[1] : at[1]+n]); address != "" {
				a.inPrompt[key(text[at[0]:at[1]]+address)] = true
			}
		}
	}
	for _, f := range sources {
		if host := hostOf(f.Source); host != "" {
			a.hosts[host] = true
		}
	}
}

func key(address string) string {
	if at := schemeOrWWW().FindStringIndex(address); at != nil && at[0] == 0 && address[at[1]-1] == '/' {
		address = address[at[1]:]
	}
	return strings.TrimSuffix(address, "/")
}

// hostOf returns a web address's host in lower case, or "" if it isn't one.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return strings.ToLower(u.Host)
}

// addressRun returns the length in bytes, up to maxAddressBytes, of the longest possible address at the start of s. It
// does not count an incomplete character at the end. ended means that a delimiter follows: white space, "<", "[", a
// letter in a script without spaces, or non-ASCII punctuation.
func addressRun(s string) (n int, ended bool) {
	for n < len(s) && n < maxAddressBytes {
		if s[n] < utf8.RuneSelf {
			if s[n] <= ' ' || s[n] == '<' || s[n] == '[' || s[n] == 0x7f {
				return n, true
			}
			n++
			continue
		}
		if !utf8.FullRuneInString(s[n:]) {
			return n, false
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) ||
			unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Hangul) {
			return n, true
		}
		n += size
	}
	return n, false
}

// cutAddress returns the address at the start of a run (see addressRun). It ends at a quotation mark, a bar or an
// unmatched closing bracket, and excludes trailing punctuation, which belongs to the surrounding sentence.
func cutAddress(run string) string {
	depth := 0
	for i := range len(run) {
		switch run[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return strings.TrimRight(run[:i], trailing)
			}
		case '"', '\'', '`', '|', ']', '}', '>':
			return strings.TrimRight(run[:i], trailing)
		}
	}
	if depth > 0 || !strings.HasSuffix(run, ")") {
		return strings.TrimRight(run, trailing)
	}
	return run
}
