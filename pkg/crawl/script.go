package crawl

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Rendered is a page whose scripts a browser has run.
type Rendered struct {
	HTML   []byte // UTF-8, without scripts
	URL    string // after redirects and scripts
	Status int    // status of the server's response for the page
}

// Pages and elements with fewer letters and digits count as empty.
const (
	emptyPage   = 100 // a page without its navigation; a shell may contain a greeting
	emptyRoot   = 30  // an element that scripts fill; it may contain a loading message
	emptyNotice = 250 // a page that asks the reader, possibly at length, to enable JavaScript
)

// Limits on how much of a page is examined, because a hostile page could make this slow.
const (
	maxTexts = 2000 // text nodes
	maxRoots = 16   // elements that scripts could fill
)

// needsScript reports whether a page is empty until its scripts have run. Such a page has scripts, hardly any text, and
// at least one of three signs: its text asks for JavaScript, it has an empty element that an application could fill, or
// it shows nothing but text. A page that is merely short, or rendered by the server, doesn't count as empty.
func (s *shellSigns) needsScript() bool {
	switch {
	case s.scripts == 0:
		return false
	case s.noScriptNeedsScripts && s.letters+s.framing < emptyNotice:
		return true
	case s.letters >= emptyPage:
		return false
	case s.textNeedsScripts || s.emptyRoot:
		return true
	}
	return !s.hasOtherContent && s.framing < emptyPage && (s.letters == 0 || s.isLoading && s.letters < emptyRoot)
}

// shellSigns are the features that distinguish an application shell from a page.
type shellSigns struct {
	scripts              int  // scripts that a browser runs
	letters              int  // letters of text not counted in `framing`
	framing              int  // letters in navigation, header and footer
	isLoading            bool // the text contains a loading message
	noScriptNeedsScripts bool // the noscript text says that scripts are needed
	textNeedsScripts     bool // the visible text says that scripts are needed
	emptyRoot            bool // there is an empty element that scripts could fill
	texts                int  // text nodes examined
	roots                int  // root elements examined
	hasOtherContent      bool // there is visible content other than text
}

// read examines the document. It stops early if the document has too much text for a shell, or too many text nodes.
func (s *shellSigns) read(doc *html.Node) {
	for n := doc; n != nil && s.letters <= maxNotFoundLetters && s.texts < maxTexts; n = next(n, doc) {
		switch n.Type {
		case html.TextNode:
			s.text(n)
		case html.ElementNode:
			s.element(n)
		}
	}
}

// next returns the node after n in document order, skipping the descendants of invisible elements.
func next(n, top *html.Node) *html.Node {
	if n.FirstChild != nil && !isInvisible(n) {
		return n.FirstChild
	}
	for n != nil && n != top {
		if n.NextSibling != nil {
			return n.NextSibling
		}
		n = n.Parent
	}
	return nil
}

func isInvisible(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Title, atom.Svg, atom.Iframe, atom.Textarea, atom.Select:
		return true
	}
	return false
}

func (s *shellSigns) text(n *html.Node) {
	letters := countLetters(n.Data)
	if letters == 0 {
		return
	}
	if s.texts++; s.texts == maxTexts {
		s.letters = maxNotFoundLetters + 1
		return
	}
	if isFraming(n) {
		s.framing += letters
		return
	}
	s.letters += letters
	if s.letters < emptyNotice { // the text is short
		s.isLoading = s.isLoading || loading().MatchString(n.Data)
		s.textNeedsScripts = s.textNeedsScripts || scriptRequest().MatchString(n.Data)
	}
}

func isFraming(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		switch p.DataAtom {
		case atom.Nav, atom.Header, atom.Footer:
			return true
		}
	}
	return false
}

// loading matches loading messages in the most common languages.
var loading = lazyregexp.New(`(?i)\b(loading|please wait|one moment|just a moment|wird geladen|bitte warten|laden|` +
	`chargement|patientez|cargando|carregando|caricamento|wczytywanie|laddar|indl.ser|ladataan|y.kleniyor)\b|` +
	`загруз|завантаж|加载|載入|正在|読み込|로딩|로드|…\s*$|\.\.\.\s*$`)

// scriptRequest matches text that asks for JavaScript.
var scriptRequest = lazyregexp.New(`(?i)(enabl|requir|needs?\b|turn(ed)? on|activ|habilit|einschalten|abilit|włącz|включ|启用|啟用|有効).{0,60}java ?script` +
	`|java ?script.{0,60}(enabl|requir|needed|turned? on|activ|habilit|einschalten|abilit|włącz|включ|启用|啟用|有効)`)

func (s *shellSigns) element(n *html.Node) {
	switch n.DataAtom {
	case atom.Script:
		if isCode(n) {
			s.scripts++
		}
	case atom.Noscript:
		s.noScriptNeedsScripts = s.noScriptNeedsScripts || mentionsScripts(n)
	case atom.Img, atom.Picture, atom.Video, atom.Audio, atom.Object, atom.Embed, atom.Iframe, atom.Frameset, atom.Form,
		atom.Input, atom.Textarea, atom.Table:
		s.hasOtherContent = true
	case atom.Meta:
		// A refresh redirects readers even without scripts, so a page that has one does not need scripts.
		s.hasOtherContent = s.hasOtherContent || strings.EqualFold(attr(n, "http-equiv"), "refresh")
	default:
		if !s.emptyRoot && s.roots < maxRoots && isRoot(n) {
			s.roots++
			s.emptyRoot = isNearlyEmpty(n)
		}
	}
}

// isCode reports whether a script element contains code, not data.
func isCode(n *html.Node) bool {
	t, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(attr(n, "type"))), ";")
	switch {
	case t == "", t == "module", strings.HasSuffix(t, "javascript"), strings.HasSuffix(t, "ecmascript"):
		// Loaders retype scripts that they defer, for example to "…-text/javascript", so any type with this suffix
		// counts.
		return attr(n, "src") != "" || n.FirstChild != nil
	}
	return false
}

// mentionsScripts reports whether the noscript text is about scripts. Most noscript elements contain only a tracking
// image.
func mentionsScripts(noscript *html.Node) bool {
	if noscript.FirstChild == nil {
		return false
	}
	// The parser leaves noscript's content as raw text, like a browser with scripting enabled.
	z := html.NewTokenizer(strings.NewReader(noscript.FirstChild.Data))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return false
		case html.TextToken:
			text := strings.ToLower(string(z.Text()))
			if strings.Contains(text, "javascript") || strings.Contains(text, "java script") {
				return true
			}
		}
	}
}

// appRoots are ids of elements that frameworks and templates fill with the page.
var appRoots = map[string]bool{
	"root": true, "app": true, "__next": true, "__nuxt": true, "__layout": true, "___gatsby": true, "svelte": true,
	"sapper": true, "q-app": true, "react-root": true, "reactroot": true, "react-app": true, "react": true,
	"vue-app": true, "vue": true, "app-root": true, "approot": true, "app-container": true, "app-mount": true,
	"app-wrapper": true, "main-app": true, "application": true, "mount": true, "mount-point": true, "spa": true,
	"single-spa-application": true, "__docusaurus": true, "ember-app": true, "ember-application": true, "elm": true,
	"elm-app": true, "page-app": true, "webapp": true, "web-app": true, "solid-app": true, "preact_root": true,
	"container-app": true, "site-app": true, "main-root": true, "root-app": true, "storybook-root": true,
}

// isRoot reports whether an element may be an application's root, i.e. whether it has a typical id or attribute, or is
// a custom element that makes up the body.
func isRoot(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Div, atom.Main, atom.Section, atom.Article, atom.Body:
		if _, ok := attributeOf(n, "ng-app", "data-ng-app", "ng-view", "ui-view", "data-reactroot", "data-v-app", "data-server-rendered", "v-cloak", "data-ember-app"); ok {
			return true
		}
		return appRoots[strings.ToLower(attr(n, "id"))]
	}
	return n.DataAtom == 0 && strings.Contains(n.Data, "-") && n.Parent != nil && n.Parent.DataAtom == atom.Body &&
		!isWidget(n.Data)
}

// isWidget reports, based on the name, whether a custom element is only a small part of a page.
func isWidget(name string) bool {
	for _, part := range []string{"cookie", "consent", "chat", "toast", "banner", "modal", "dialog", "analytics", "translate", "captcha"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func isNearlyEmpty(n *html.Node) bool {
	letters := 0
	for c := next(n, n); c != nil; c = next(c, n) {
		if c.Type == html.TextNode {
			if letters += countLetters(c.Data); letters >= emptyRoot {
				return false
			}
		}
	}
	return true
}

func countLetters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

func attr(n *html.Node, name string) string {
	v, _ := attributeOf(n, name)
	return v
}

// attributeOf returns the value of the element's first attribute with one of these names, and whether there is one.
func attributeOf(n *html.Node, names ...string) (string, bool) {
	for _, a := range n.Attr {
		for _, name := range names {
			if a.Namespace == "" && a.Key == name {
				return a.Val, true
			}
		}
	}
	return "", false
}
