package weburl

import (
	"strings"
	"testing"
)

func TestNormalise_gives_one_spelling(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"host in lower case":                     {"HTTP://EXAMPLE.com/Path", "http://example.com/Path"},
		"an empty path is the root":              {"http://example.com", "http://example.com/"},
		"default ports go":                       {"http://example.com:80/", "http://example.com/"},
		"default ports of https go":              {"https://example.com:443/a", "https://example.com/a"},
		"other ports stay":                       {"https://example.com:8443/a", "https://example.com:8443/a"},
		"fragments go":                           {"http://example.com/a#b", "http://example.com/a"},
		"dot segments go":                        {"http://example.com/a/./b/../c", "http://example.com/a/c"},
		"encoded dot segments go":                {"http://example.com/a/%2e%2E/c", "http://example.com/c"},
		"backslashes are slashes":                {`http:\\example.com\a`, "http://example.com/a"},
		"white space around goes":                {" \n http://example.com/a\t", "http://example.com/a"},
		"line ends within go":                    {"http://example.com/a\nb", "http://example.com/ab"},
		"spaces are escaped":                     {"http://example.com/a b", "http://example.com/a%20b"},
		"international hosts become ASCII":       {"http://Bücher.example/", "http://xn--bcher-kva.example/"},
		"a final dot of the host goes":           {"http://example.com./a", "http://example.com/a"},
		"a final dot before a port goes":         {"http://example.com.:81/a", "http://example.com:81/a"},
		"escapes are in upper case":              {"http://example.com/%c3%a4", "http://example.com/%C3%A4"},
		"needless escapes go":                    {"http://example.com/%7Euser/%61", "http://example.com/~user/a"},
		"letters are escaped":                    {"http://example.com/ä", "http://example.com/%C3%A4"},
		"an escaped slash stays":                 {"http://example.com/a%2fb", "http://example.com/a%2Fb"},
		"a lone percent sign makes no escape":    {"http://e.com/?a=%%333&b=%3%62", "http://e.com/?a=%%333&b=%3%62"},
		"a lone percent sign is escaped":         {"http://example.com/100%", "http://example.com/100%25"},
		"a trailing slash stays":                 {"http://example.com/a/", "http://example.com/a/"},
		"and its absence":                        {"http://example.com/a", "http://example.com/a"},
		"tracking parameters go":                 {"http://e.com/?utm_source=a&id=1&gclid=x&UTM_medium=y&fbclid=z", "http://e.com/?id=1"},
		"an empty query goes":                    {"http://e.com/a?", "http://e.com/a"},
		"a query of only tracking goes":          {"http://e.com/a?utm_source=x", "http://e.com/a"},
		"the order of parameters stays":          {"http://e.com/?b=1&a=2", "http://e.com/?b=1&a=2"},
		"empty parameters go":                    {"http://e.com/?&a=1&&b=2&", "http://e.com/?a=1&b=2"},
		"a session id in the query goes":         {"http://e.com/?PHPSESSID=abc&p=1", "http://e.com/?p=1"},
		"a session id in the path goes":          {"http://e.com/a;jsessionid=AB12?p=1", "http://e.com/a?p=1"},
		"a session id within the path goes":      {"http://e.com/a;JSESSIONID=AB12/b", "http://e.com/a/b"},
		"escapes hide no session":                {"http://e.com/a;%6Asessionid=AB12?%70hpsessid=abc&%75tm_source=x", "http://e.com/a"},
		"a long sid is a session":                {"http://e.com/?sid=0123456789abcdef0123", "http://e.com/"},
		"a short sid is not":                     {"http://e.com/?sid=42", "http://e.com/?sid=42"},
		"a session id that is its own segment":   {"http://e.com/app/(S(ab12cd34ef56ab12cd34ef56))/a?p=1", "http://e.com/app/a?p=1"},
		"such a segment beside other marks":      {"http://e.com/(A(xyz)S(ab12cd34ef56ab12cd34ef56))/a", "http://e.com/a"},
		"a segment in parentheses stays":         {"http://e.com/(S(hort))/(group)/a", "http://e.com/(S(hort))/(group)/a"},
		"a random word to search for is none":    {"http://e.com/?s=harbour", "http://e.com/?s=harbour"},
		"a long word to search for stays":        {"http://e.com/?s=incomprehensibilities", "http://e.com/?s=incomprehensibilities"},
		"a user name goes":                       {"http://me:pw@e.com/", "http://e.com/"},
		"a decimal address is written with dots": {"http://2130706433/", "http://127.0.0.1/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Normalise(tc.in)
			if err != nil || got != tc.want {
				t.Errorf("Normalise(%q) is %q, %v; want %q", tc.in, got, err, tc.want)
			}
			if again, err := Normalise(got); again != got || err != nil {
				t.Errorf("a second time makes it %q, %v", again, err)
			}
		})
	}
	for _, bad := range []string{"", "x", "mailto:a@b", "ftp://a/", "http://", "http:///", "http://a b/", "http://0../", "http://e.com../", "http://./", "http://a/" + strings.Repeat("ä", 1_000)} {
		if got, err := Normalise(bad); err == nil {
			t.Errorf("Normalise(%.40q) is %.40q", bad, got)
		}
	}
}

func FuzzNormalise(f *testing.F) {
	for _, s := range []string{
		"http://example.com/a/../b?utm_x=1&c#d", "https://Bücher.example:443/%7e%2f%", "//x", "/a;jsessionid=1/b", "http://[::1]/",
		"http://e/%2e./..%2f?%&=&a", "HTTP:\\\\e\\..\\", "?\\", "http://e./;jsessionid=;jsessionid=x",
	} {
		f.Add("https://example.com/dir/page", s)
	}
	f.Add("http:", "http:0%2e.") // two final dots: without them, the host is a number
	f.Fuzz(func(t *testing.T, base, ref string) {
		_, got, err := NewBase(base).Normalise(ref)
		if err != nil {
			return
		}
		again, err := Normalise(got)
		if err != nil || again != got {
			t.Errorf("%q on %q is %q, and then %q, %v", ref, base, got, again, err)
		}
		path, _, _ := strings.Cut(got, "?")
		if len(got) > MaxBytes || !strings.HasPrefix(got, "http") || strings.ContainsAny(got, "# \n\t") || strings.Contains(path, "\\") {
			t.Errorf("%q on %q is %q", ref, base, got)
		}
	})
}

func BenchmarkNormalise(b *testing.B) {
	base := NewBase("https://example.com/docs/guide/")
	for b.Loop() {
		if _, _, err := base.Normalise("../reference/api.html?utm_source=x&page=2#top"); err != nil {
			b.Fatal(err)
		}
	}
}
