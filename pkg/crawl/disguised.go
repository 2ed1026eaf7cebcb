package crawl

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/wordset"
)

// Some servers respond with 200 when they mean 404 or 401. If such pages were indexed, they would match any query for
// their few words.

const (
	// Maximum number of letters, outside navigation, in a soft 404. A longer page is probably an article about 404s.
	maxNotFoundLetters = 800
	// Maximum number of letters, outside navigation, in a soft 404 without a heading.
	maxBareLetters = 400
)

// errSignIn means that the server sent a sign-in form instead of the page.
var errSignIn = errors.New("the page asks to sign in")

// Building blocks for the regular expressions that recognise soft 404 pages.
const (
	errorCode       = `(?:http\s*(?:status\s*)?)?(?:(?:error|erreur|errore|fehler|fout|fel|feil|błąd|erro|ошибка)\s*:?\s*)?(?:404|410)(?:\s*error)?`
	apology         = `(?:(?:oops|sorry|whoops|uh[ -]oh|hoppla|ups)[!.,…]*\s*)?`
	missingNoun     = `(?:(?:this|that|the|your) )?(?:requested )?(?:page|file|document|article|url|content|resource|object|topic|post|thread|question|product|item|entry)`
	requestedClause = `(?: (?:that )?you(?: are|['’]re| were|['’]ve)? ?(?:requested|looking for|asked for|trying to (?:reach|view|find|access)))?`
)

// notFoundWords matches titles and headings of soft 404 pages.
var notFoundWords = lazyregexp.New(`(?i)^` + errorCode + `[.!]?$|^(?:` + errorCode + `[\s:!.,]*)?` + apology + `(?:` +
	`(?:` + missingNoun + `)?` + requestedClause + `\s*(?:(?:was|is|could|can|does|has)\s*)?(?:not|n?['’]t|cannot)\s*(?:been |be )?(?:found|exist|available)|` +
	missingNoun + requestedClause + ` (?:(?:is|was|has been|may have been) (?:gone|missing|removed|deleted)|missing|no longer exists)|no such page|nothing (?:was )?found(?: here)?|` +
	`we (?:can(?:no|['’])?t|could(?:n['’]t| not)|(?:are|were) (?:unable to|not able to)) (?:seem to )?(?:find|locate) ` + missingNoun + requestedClause + `|` +
	`(?:die )?(?:angeforderte )?seite (?:(?:wurde|konnte) )?nicht gefunden(?: werden)?|(?:diese )?seite existiert nicht|page (?:non trouvée|introuvable)|` +
	`(?:cette|la) page (?:demandée )?n['’]existe (?:pas|plus)|p[áa]gina (?:no|não|non) (?:encontrada|existe|trovata)|pagina niet gevonden|` +
	`(?:nie znaleziono strony|strona nie (?:została znaleziona|istnieje))|` +
	`sidan (?:hittades inte|kunde inte hittas)|siden (?:blev |ble )?ikke fun(?:det|net)|sivua ei löyt\S+|страница не найдена|сторінку не знайдено|` +
	`stránka ne(?:nalezena|existuje)|sayfa bulunamadı|页面(?:不存在|未找到)|(?:找不到|未找到)(?:页面|頁面|网页)|頁面不存在|` +
	`(?:お探しの)?ページが見つかりません\S*|페이지를 찾을 수 없습니다` +
	`)[\s!.…]*(?:\(?(?:error\s*)?(?:404|410)\)?)?$`)

// apologyWords matches headings that only apologise. A page with such a heading is a soft 404 only if its title says
// that the page does not exist.
var apologyWords = lazyregexp.New(`(?i)^(?:oops|whoops|uh[ -]oh|sorry|hoppla|ups|something went wrong|nothing (?:to see )?here|dead end|` +
	`(?:looks like )?you(?: are|['’]re| seem)? (?:to be )?lost|server error(?: in .*)?|fehler|erreur|410 gone)\b[^\pL]*(?:nothing (?:to see )?here)?[^\pL]*$`)

// titleParts matches the separators between a page's title and its site's name.
var titleParts = lazyregexp.New(`\s+[|·•»«:–—-]+\s+|[|»«—]|: `)

// isNotFoundText reports whether a title or heading says that there is no such page.
func isNotFoundText(s string) bool {
	s = strings.Join(strings.Fields(s), " ")
	return s != "" && (notFoundWords().MatchString(s) || slices.ContainsFunc(titleParts().Split(s, 10), func(part string) bool {
		return notFoundWords().MatchString(strings.TrimSpace(part))
	}))
}

// notFoundPath matches the addresses of error pages.
var notFoundPath = lazyregexp.New(`(?i)404|not-?_?found`)

// isNotFound reports whether the page is a soft 404, i.e. title and heading say that the page does not exist and there
// is little other text. If the address has "404" in a path with several segments, the page is taken for an article
// about missing pages instead.
func (p *pageReader) isNotFound(final *url.URL) bool {
	switch {
	case p.signs.letters > maxNotFoundLetters || !isNotFoundText(p.title):
		return false
	case p.heading == "" && p.signs.letters > maxBareLetters, p.heading != "" && !isNotFoundText(p.heading) && !apologyWords().MatchString(p.heading):
		return false
	}
	return !notFoundPath().MatchString(final.Path) || strings.Count(strings.Trim(final.Path, "/"), "/") == 0
}

var (
	// signInPath matches the paths and host names of sign-in pages.
	signInPath = lazyregexp.New(`(?i)(?:^|[/._-])(?:log[-_]?in|sign[-_]?in|log[-_]?on|sign[-_]?on|sso|auth|oauth2?|authorize|authenticate|` +
		`anmelden|anmeldung|einloggen|connexion|iniciar[-_]sesion|acceder|accedi|inloggen|logowanie|sessions?/new|saml2?|idp|adfs|accounts)(?:$|[/._-])`)
	// signInWords matches the titles and headings of sign-in pages.
	signInWords = lazyregexp.New(`(?i)^(?:members only|access denied|authentication required|unauthori[sz]ed|restricted (?:access|area))\b|^(?:please )?(?:log|sign)[- ]?(?:in|on)\b|\b(?:log|sign) ?in (?:to|required)|^(?:bitte )?(?:anmelden|einloggen)|^anmeldung|` +
		`^(?:se )?connecter|^connexion|^identifiez-vous|^iniciar sesión|^entrar$|^accedi|^inloggen|^zaloguj|^logga in|^вход|^войти|^登录|^登入|^ログイン|^로그인`)
	// returnParameters are query parameters that hold the address to return to after signing in.
	returnParameters = wordset.Of(`next return returnurl return_url return_to returnto redirect redirect_uri redirect_url redirect_to redirecturl continue
		goto service destination dest from back target ref referer fromuri ru samlrequest wantsurl`)
)

func isSignIn(u *url.URL) bool {
	host, _, _ := strings.Cut(u.Hostname(), ".")
	return signInPath().MatchString(u.Path) || signInPath().MatchString(host)
}

// isSignInPage reports whether the server sent a sign-in form instead of the requested page.
func (p *pageReader) isSignInPage(requested, final *url.URL, redirected bool) bool {
	short := p.signs.letters < emptyNotice
	switch {
	case isSignIn(requested): // the sign-in page itself was requested
		return false
	case redirected && isSignIn(final):
		back := slices.ContainsFunc(strings.Split(final.RawQuery, "&"), func(param string) bool {
			key, _, _ := strings.Cut(strings.ToLower(param), "=")
			return returnParameters[key]
		})
		// A path like /docs/auth alone proves nothing, because it may be a short documentation page.
		return p.password || back || p.signs.letters < emptyRoot && p.heading == "" || short && p.hasSignInTitle()
	case p.password:
		return p.signs.letters < emptyPage && p.signs.framing < emptyPage && p.heading == "" || short && p.hasSignInTitle()
	case p.account: // the next page asks for the password
		return short && p.hasSignInTitle()
	}
	return false
}

// hasSignInTitle reports whether the title or heading is typical of sign-in pages.
func (p *pageReader) hasSignInTitle() bool {
	return signInWords().MatchString(p.title) || signInWords().MatchString(p.heading)
}

// isAccountField reports whether an element is an account name field.
func isAccountField(n *html.Node) bool {
	return strings.EqualFold(attr(n, "type"), "email") || hasToken(attr(n, "autocomplete"), "username") || accountNames[strings.ToLower(attr(n, "name"))]
}

var accountNames = wordset.Of(`username user_login login loginfmt identifier userid user_id j_username`)

// hiddenError returns the error hidden behind a success status, or nil.
func (p *pageReader) hiddenError(redirects []domain.Redirect, final *url.URL) error {
	asked, err := weburl.Parse(p.req.URL)
	if err != nil {
		return nil //nolint:nilerr // the address has been fetched, so it is valid
	}
	switch {
	case p.isSignInPage(asked, final, len(redirects) > 0):
		return permanent(p.req.URL, "%s requires signing in: it leads to the sign-in page %s; if the site accepts a token or cookie, send it in config.headers", p.req.URL, final).withCause(errSignIn)
	case p.isNotFound(final):
		e := permanent(p.req.URL, "%s does not exist: the server answered 200, but the page says %q", p.req.URL, p.title)
		e.StatusCode = http.StatusNotFound
		return e
	}
	return nil
}

// headingText returns a heading's text, including nested elements.
func headingText(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode && b.Len() < maxTitleRunes {
			b.WriteString(c.Data)
			b.WriteByte(' ')
		}
	}
	return shorten(strings.Join(strings.Fields(strings.ToValidUTF8(b.String(), "")), " "), maxTitleRunes)
}

// isRoute reports whether a link leads to a client-side route, recognisable by a fragment such as "#/guide" or
// "index.html#!/guide".
func isRoute(href string) bool {
	_, fragment, ok := strings.Cut(href, "#")
	fragment = strings.TrimPrefix(fragment, "!")
	return ok && strings.HasPrefix(fragment, "/") && path.Clean(fragment) != "/"
}
