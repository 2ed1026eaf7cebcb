package crawl

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/crawl/robots"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/domain"
)

func TestTitlesSayThatThereIsNoPage(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]bool{
		"404": true, "404 Not Found": true, "Error 404": true, "404 - Page not found": true, "Page not found | Pumps Ltd": true,
		"Page Not Found · GitHub Pages": true, "Pumps: page not found": true, "Not found": true, "Oops! That page can’t be found.": true,
		"Sorry, this page could not be found.": true, "Page not found (404)": true, "HTTP 404": true, "The requested URL was not found": true,
		"Page doesn't exist": true, "Seite nicht gefunden – Pumpen": true, "Page introuvable": true, "Página no encontrada": true,
		"Страница не найдена": true, "页面不存在": true, "404 – Seite wurde nicht gefunden": true, "Nothing found": true, "410": true,
		"We couldn't find that page": true, "Sorry, we can't find the page you're looking for.": true, "Topic not found": true, "Erreur 404": true,
		"The page you are looking for doesn't exist": true, "This page has been removed": true, "Cette page n’existe pas": true, "Page missing": true,
		"HTTP Status 404 – Not Found": true, "The resource cannot be found.": true, "Error: command not found in shell": false, "Module not found": false,
		"": false, "Pumps": false, "How to make a 404 page": false, "Lost and found": false, "Room 404": false, "404 days at sea": false,
		"Files not found during a backup": false, "Boeing 404 manual": false, "Finding pages": false, "What to do when a page is not found": false,
	} {
		if got := isNotFoundText(title); got != want {
			t.Errorf("%q: %t", title, got)
		}
	}
}

func TestFetch_recognises_pages_about_missing_pages(t *testing.T) {
	t.Parallel()
	sorry := "<!DOCTYPE html><title>Page not found | Pumps</title><nav>" + strings.Repeat("Products Service Contact ", 60) + "</nav>"
	long := strings.Repeat("<p>This status means that the server has no current representation of the resource. ", 15)
	for name, tc := range map[string]struct {
		path, page string
		missing    bool
	}{
		"with a heading":                    {"/a", sorry + "<h1>Page not found</h1><p>Sorry. Try our search.", true},
		"with an image in the heading":      {"/a", sorry + "<h1><span>404</span> <b>Not Found</b></h1>", true},
		"with a heading that only sighs":    {"/a", sorry + "<h1>Oops!</h1><p>Try our search.", true},
		"without a heading":                 {"/a", sorry + "<p>Sorry, we have nothing at this address.", true},
		"the page itself":                   {"/404.html", sorry + "<h1>Page not found</h1>", true},
		"an article about it":               {"/status/not-found", "<!DOCTYPE html><title>404 Not Found</title><h1>404 Not Found</h1><p>It means that nothing is there.", false},
		"a long article about it":           {"/errors", "<!DOCTYPE html><title>404 Not Found - Manual</title><h1>404 Not Found</h1>" + long, false},
		"a page with another heading":       {"/a", sorry + "<h1>Pump 2000</h1><p>It pumps.", false},
		"a page with much text, no heading": {"/a", sorry + long, false},
		"a page with another title":         {"/a", "<!DOCTYPE html><title>Pump</title><h1>Page not found</h1>", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answering(map[string]string{"Content-Type": "text/html"}, tc.page))
			_, body, err := fetch(t, local(t), PageRequest{URL: s.URL + tc.path})
			if !tc.missing {
				if err != nil || body != tc.page {
					t.Errorf("got %v", err)
				}
				return
			}
			if e := wantError(t, err); !e.Permanent || !e.Gone() || !strings.Contains(e.Message, "the server answered 200, but") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestFetch_recognises_pages_to_sign_in(t *testing.T) {
	t.Parallel()
	form := `<!DOCTYPE html><title>Sign in</title><h1>Sign in</h1><form><input name=user><input type=password name=p></form>`
	text := "<!DOCTYPE html><title>Docs</title><h1>Docs</h1>" + strings.Repeat("<p>There is much to read here. ", 30)
	for name, tc := range map[string]struct {
		asked, to string // requested address and its redirect's target; "" if there is no redirect
		page      string
		signIn    bool
	}{
		"a redirect to a form":                {"/docs", "/login?next=/docs", form, true},
		"a redirect to a form by another way": {"/docs", "/users/sign_in", form, true},
		"a redirect to a session":             {"/docs", "/session/new", form, true},
		"a form that a script shows":          {"/docs", "/accounts/login/?next=/docs", "<!DOCTYPE html><title>x</title><div id=root></div><script src=a.js></script>", true},
		"a form with much text":               {"/docs", "/wp-login.php?redirect_to=%2Fdocs", text + form, true},
		"a form in place of the page":         {"/docs", "", form, true},
		"the same in German":                  {"/docs", "", strings.ReplaceAll(form, "Sign in", "Anmelden"), true},
		"by a refresh":                        {"/refresh", "", "", true},
		"the page to sign in itself":          {"/login", "", form, false},
		"a redirect within the docs":          {"/docs", "/docs/auth/", text, false},
		"a short page about it":               {"/docs", "/docs/accounts/", "<!DOCTYPE html><title>Accounts</title><h1>Accounts</h1><p>Every user has one.", false},
		"a form for the name alone":           {"/docs", "", `<!DOCTYPE html><title>Sign in</title><h1>Sign in</h1><input type=email><button>Next</button>`, true},
		"a form without a heading":            {"/docs", "", `<!DOCTYPE html><title>Pumps</title><form>Name <input> Password <input type=password></form>`, true},
		"a page for members":                  {"/docs", "/members", `<!DOCTYPE html><title>Members only</title><h1>Members only</h1><input type=password>`, true},
		"a page with a form in its header":    {"/docs", "", text + `<header><form><input type=password></form></header>`, false},
		"a page about passwords":              {"/docs", "", `<!DOCTYPE html><title>Passwords</title><h1>Passwords</h1><input type=password>`, false},
		"a redirect to another page":          {"/docs", "/manual", text, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				switch {
				case r.URL.Path == robots.Path:
					http.NotFound(w, r)
				case r.URL.Path == "/refresh":
					_, _ = io.WriteString(w, `<meta http-equiv="refresh" content="0; url=/login">`)
				case r.URL.Path == "/login" && tc.page == "":
					_, _ = io.WriteString(w, form)
				case tc.to != "" && r.URL.Path == tc.asked:
					http.Redirect(w, r, tc.to, http.StatusFound)
				default:
					_, _ = io.WriteString(w, tc.page)
				}
			}))
			_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + tc.asked})
			if !tc.signIn {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if e := wantError(t, err); !e.Permanent || e.Gone() || !errors.Is(err, errSignIn) || !strings.Contains(e.Message, "signing in") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestFetch_counts_links_to_views_within_a_page(t *testing.T) {
	t.Parallel()
	s := routes(t, map[string]string{"/": `<!DOCTYPE html><p>` + strings.Repeat("some text ", 50) +
		`<a href="#/guide">a</a><a href="/#/setup?id=x">b</a><a href="index.html#!/api">c</a><a href="#top">d</a><a href="#/">e</a><a href="/b#part">f</a>`})
	p, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/", WantLinks: true, Scope: &domain.SiteScope{Root: s.URL + "/", Follow: true}})
	if err != nil || p.Refused[scope.RefusedRoute] != 3 {
		t.Errorf("got %+v, %v", p, err)
	}
}
