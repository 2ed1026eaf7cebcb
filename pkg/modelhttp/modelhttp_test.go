package modelhttp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPostSendsJSON(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := []string{r.Method, r.RequestURI, string(body)}
		for _, name := range []string{"Content-Type", "Accept", "User-Agent", "Authorization", "X-Own"} {
			got = append(got, r.Header.Get(name))
		}
		want := []string{"POST", "/v1/x?k=1", `{"text":"a<b> & 水"}` + "\n", "application/json", "application/json", "Sluice", "Bearer key", "own"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer srv.Close()
	header := Bearer("key")
	header.Set("X-Own", "own")
	res, err := Post(t.Context(), srv.Client(), srv.URL+"/v1/x?k=1", header, map[string]string{"text": "a<b> & 水"})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusTeapot {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestErrorsDoNotHoldTheAddress(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"nobody listens": "http://127.0.0.1:1/?key=secret", "no address": "http://secret\x7f/"} {
		res, err := Post(t.Context(), http.DefaultClient, address, nil, nil)
		if err == nil {
			res.Body.Close()
		}
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRedirectsStayWithinTheOrigin(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed to another host") }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/within":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		case "/elsewhere":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusTemporaryRedirect)
		}
	}))
	defer srv.Close()
	for path, want := range map[string][2]int{"/within": {200, 307}, "/elsewhere": {307, 307}, "/circle": {307, 307}} {
		for i, check := range []func(*http.Request, []*http.Request) error{SameOrigin, NoRedirects} {
			res, err := Post(t.Context(), &http.Client{CheckRedirect: check}, srv.URL+path, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want[i] {
				t.Errorf("%s, %d: status %d, want %d", path, i, res.StatusCode, want[i])
			}
		}
	}
}

func TestWaitsThatServersAskFor(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		name, value string
		want        time.Duration
		ok          bool
	}{
		{"Retry-After", "2", 2 * time.Second, true},
		{"Retry-After", "0", 0, true},
		{"Retry-After", "1.5", 1500 * time.Millisecond, true},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:15 GMT", 10 * time.Second, true},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:00 GMT", 0, true},
		{"Retry-After", "Fri, 02 Jan 2036 03:04:00 GMT", 0, false},
		{"Retry-After-Ms", "250", 250 * time.Millisecond, true},
		{"Retry-After-Ms", "1e300", 0, false},
		{"Retry-After", "-1", 0, false},
		{"Retry-After", "NaN", 0, false},
		{"Retry-After", "1e30", 0, false},
		{"Retry-After", "soon", 0, false},
	} {
		h := http.Header{}
		h.Set(test.name, test.value)
		if got, ok := RetryAfter(h, now); got != test.want || ok != test.ok {
			t.Errorf("%s: %s is %s, %v", test.name, test.value, got, ok)
		}
	}
}
