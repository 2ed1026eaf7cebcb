package domain

import "testing"

func TestSameSpelling(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, b string
		want bool
	}{
		"another scheme, www and a slash are no other page": {"http://www.pumps.example/a/", "https://pumps.example/a", true},
		"neither is the name of an index":                   {"https://pumps.example/a/index.html", "https://pumps.example/a/", true},
		"nor that of a default page in capitals":            {"https://pumps.example/Default.aspx", "https://pumps.example", true},
		"nor the query, nor the scheme's own port":          {"https://pumps.example:443/a?from=mail", "http://pumps.example:80/a", true},
		"another path is":                                   {"https://pumps.example/a", "https://pumps.example/b", false},
		"another port is":                                   {"https://pumps.example:8443/a", "https://pumps.example/a", false},
		"another host is":                                   {"https://docs.pumps.example/a", "https://pumps.example/a", false},
		"what is no address is only itself":                 {"https://pumps.example/%zz", "https://pumps.example/", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := SameAddress(test.a, test.b); got != test.want {
				t.Errorf("SameSpelling(%q, %q) = %v", test.a, test.b, got)
			}
		})
	}
}
