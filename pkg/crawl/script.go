package crawl

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Rendered is a page as a browser shows it when its scripts have run.
type Rendered struct {
	HTML   []byte // UTF-8, without the scripts
	URL    string // after redirects and scripts
	Status int    // of the server's answer for the page
}

// Letters of text, digits included, below which a part of a page counts as empty.
const (
	emptyPage   = 100 // a page beside its navigation: a shell may hold a greeting
	emptyRoot   = 30  // what scripts build: it may say that it loads
	emptyNotice = 250 // a page that asks to turn JavaScript on: it may say so at length
)

// What is looked at of a page that is made to be slow to look at.
const (
	maxTexts = 2000 // pieces of text
	maxRoots = 16   // elements that scripts could fill
)

// needsScript reports whether a page shows its content only when its scripts run: it has scripts and next to no text,
// and it has an empty element of the kind that applications are built in, or nothing else at all, or says itself that
// it needs JavaScript. A page that is merely short is none, nor is one whose server has put the content in.
func (s *shell) needsScript() bool {
	switch {
	case s.scripts == 0:
		return false
	case s.asks && s.letters+s.framing < emptyNotice:
		return true
	case s.letters >= emptyPage:
		return false
	case s.asksAloud || s.emptyRoot:
		return true
	}
	return !s.shows && s.framing < emptyPage && (s.letters == 0 || s.loads && s.letters < emptyRoot)
}

// shell is what tells an application's shell from a page.
type shell struct {
	scripts   int  // that a browser runs
	letters   int  // of text, without that of framing
	framing   int  // letters of navigation, header and footer
	loads     bool // the text says that something loads
	asks      bool // the part for browsers without scripts says that they are needed
	asksAloud bool // the text says so
	emptyRoot bool // there is an element that scripts are to fill
	texts     int  // looked at
	roots     int  // looked into
	shows     bool // there is something to see beside text
}

// read takes in the document until it is clear that it is no shell.
func (s *shell) read(doc *html.Node) {
	for n := doc; n != nil && s.letters <= maxNotFoundLetters && s.texts < maxTexts; n = next(n, doc) {
		switch n.Type {
		case html.TextNode:
			s.text(n)
		case html.ElementNode:
			s.element(n)
		}
	}
}

// next is the node after n in the document's order, without what is below elements that are not shown.
func next(n, top *html.Node) *html.Node {
	if n.FirstChild != nil && !isUnseen(n) {
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

func isUnseen(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Title, atom.Svg, atom.Iframe, atom.Textarea, atom.Select:
		return true
	}
	return false
}

func (s *shell) text(n *html.Node) {
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
	if s.letters < emptyNotice { // so the text is short
		s.loads = s.loads || loading.MatchString(n.Data)
		s.asksAloud = s.asksAloud || wanting.MatchString(n.Data)
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

// loading is how pages say it in the languages of most.
var loading = regexp.MustCompile(`(?i)\b(loading|please wait|one moment|just a moment|wird geladen|bitte warten|laden|` +
	`chargement|patientez|cargando|carregando|caricamento|wczytywanie|laddar|indl.ser|ladataan|y.kleniyor)\b|` +
	`загруз|завантаж|加载|載入|正在|読み込|로딩|로드|…\s*$|\.\.\.\s*$`)

// wanting is how pages ask for JavaScript in their text.
var wanting = regexp.MustCompile(`(?i)(enabl|requir|needs?\b|turn(ed)? on|activ|habilit|einschalten|abilit|włącz|включ|启用|啟用|有効).{0,60}java ?script` +
	`|java ?script.{0,60}(enabl|requir|needed|turned? on|activ|habilit|einschalten|abilit|włącz|включ|启用|啟用|有効)`)

func (s *shell) element(n *html.Node) {
	switch n.DataAtom {
	case atom.Script:
		if runs(n) {
			s.scripts++
		}
	case atom.Noscript:
		s.asks = s.asks || asksForScript(n)
	case atom.Img, atom.Picture, atom.Video, atom.Audio, atom.Object, atom.Embed, atom.Iframe, atom.Frameset, atom.Form,
		atom.Input, atom.Textarea, atom.Table:
		s.shows = true
	case atom.Meta:
		// It sends the reader on by itself.
		s.shows = s.shows || strings.EqualFold(attr(n, "http-equiv"), "refresh")
	default:
		if !s.emptyRoot && s.roots < maxRoots && isRoot(n) {
			s.roots++
			s.emptyRoot = isHollow(n)
		}
	}
}

// runs tells scripts from data.
func runs(n *html.Node) bool {
	t, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(attr(n, "type"))), ";")
	switch {
	case t == "", t == "module", strings.HasSuffix(t, "javascript"), strings.HasSuffix(t, "ecmascript"):
		return attr(n, "src") != "" || n.FirstChild != nil
	}
	// A loader that defers scripts gives them a type of its own: "…-text/javascript".
	return false
}

// asksForScript reports whether the text for browsers without scripts is about scripts. Mostly such parts hold the
// picture of a tracker, and no text.
func asksForScript(noscript *html.Node) bool {
	if noscript.FirstChild == nil {
		return false
	}
	// The parser leaves the content as it is, as a browser with scripts does.
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

// roots are the ids that frameworks and their templates give to the element that they build the page in.
var roots = map[string]bool{
	"root": true, "app": true, "__next": true, "__nuxt": true, "__layout": true, "___gatsby": true, "svelte": true,
	"sapper": true, "q-app": true, "react-root": true, "reactroot": true, "react-app": true, "react": true,
	"vue-app": true, "vue": true, "app-root": true, "approot": true, "app-container": true, "app-mount": true,
	"app-wrapper": true, "main-app": true, "application": true, "mount": true, "mount-point": true, "spa": true,
	"single-spa-application": true, "__docusaurus": true, "ember-app": true, "ember-application": true, "elm": true,
	"elm-app": true, "page-app": true, "webapp": true, "web-app": true, "solid-app": true, "preact_root": true,
	"container-app": true, "site-app": true, "main-root": true, "root-app": true, "storybook-root": true,
}

// isRoot reports whether an application may be built in the element: it has the id of one, or it is an element of the
// application's own that makes up the body.
func isRoot(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Div, atom.Main, atom.Section, atom.Article, atom.Body:
		if _, ok := attributeOf(n, "ng-app", "data-ng-app", "ng-view", "ui-view", "data-reactroot", "data-v-app", "data-server-rendered", "v-cloak", "data-ember-app"); ok {
			return true
		}
		return roots[strings.ToLower(attr(n, "id"))]
	}
	return n.DataAtom == 0 && strings.Contains(n.Data, "-") && n.Parent != nil && n.Parent.DataAtom == atom.Body &&
		!isWidget(n.Data)
}

// isWidget tells small elements that stand beside a page from those that are one.
func isWidget(name string) bool {
	for _, part := range []string{"cookie", "consent", "chat", "toast", "banner", "modal", "dialog", "analytics", "translate", "captcha"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// isHollow reports whether next to no text is in the element.
func isHollow(n *html.Node) bool {
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

// attributeOf returns the first of these attributes that the element has.
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
