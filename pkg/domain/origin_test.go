package domain

import "testing"

func TestOriginsAreWrittenAsBrowsersSendThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://www.example.com":       "https://www.example.com",
		" https://WWW.Example.com/ ":    "https://www.example.com",
		"https://www.example.com:443":   "https://www.example.com",
		"http://www.example.com:80":     "http://www.example.com",
		"http://www.example.com:443":    "http://www.example.com:443",
		"http://localhost:3000":         "http://localhost:3000",
		"http://127.0.0.1:8080":         "http://127.0.0.1:8080",
		"http://[2001:DB8::0:1]:8080":   "http://[2001:db8::1]:8080",
		"https://bücher.example":        "https://xn--bcher-kva.example",
		"*":                             "*",
		"":                              "",
		"www.example.com":               "",
		"ftp://www.example.com":         "",
		"https://":                      "",
		"https://www.example.com/chat":  "",
		"https://www.example.com?a":     "",
		"https://www.example.com?":      "",
		"https://www.example.com#a":     "",
		"https://www.example.com#":      "",
		"https://ada@www.example.com":   "",
		"https://*.example.com":         "",
		"https://www.example.com:0":     "",
		"https://www.example.com:99999": "",
		"https://a b.example":           "",
		"null":                          "",
		"javascript:alert(1)":           "",
	} {
		got, err := ParseOrigin(text)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestOriginsAreAllowedByName(t *testing.T) {
	t.Parallel()
	list := []string{"https://www.example.com", "http://localhost:3000"}
	for origin, want := range map[string]bool{
		"https://www.example.com": true, "https://WWW.example.com": true, "http://localhost:3000": true,
		"http://www.example.com": false, "https://www.example.com:8443": false, "https://example.com": false,
		"https://www.example.com.evil.example": false, "null": false, "": false,
	} {
		if got := AllowsOrigin(list, origin); got != want {
			t.Errorf("%q is allowed: %v", origin, got)
		}
	}
	if !AllowsOrigin([]string{AnyOrigin}, "null") || AllowsOrigin(nil, "https://www.example.com") {
		t.Error("any is not any, or none is not none")
	}
}
