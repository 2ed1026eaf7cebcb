package app

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/api"
)

func TestProfilesRequireTheOperatorKey(t *testing.T) {
	t.Parallel()
	const key = "an operator's long key"
	rest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for name, c := range map[string]struct {
		configured, given, path string
		want                    int
	}{
		"with the key":                       {key, "Bearer " + key, "/debug/pprof/goroutine?debug=1", http.StatusOK},
		"the list of profiles":               {key, "Bearer " + key, "/debug/pprof/", http.StatusOK},
		"without a key":                      {key, "", "/debug/pprof/heap", http.StatusForbidden},
		"with another key":                   {key, "Bearer " + key + "x", "/debug/pprof/heap", http.StatusForbidden},
		"the command line, which has keys":   {key, "Bearer " + key, "/debug/pprof/cmdline", http.StatusNotFound},
		"anything else":                      {key, "", "/agents", http.StatusTeapot},
		"where no key is configured":         {"", "", "/debug/pprof/heap", http.StatusTeapot},
		"an empty key where none configured": {"", "Bearer ", "/debug/pprof/heap", http.StatusTeapot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
			r.Header.Set("Authorization", c.given)
			w := httptest.NewRecorder()
			withProfiles(c.configured, rest).ServeHTTP(w, r)
			if w.Code != c.want {
				t.Fatalf("status %d, want %d: %.200s", w.Code, c.want, w.Body)
			}
			if w.Code == http.StatusForbidden {
				var p api.Problem
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || !strings.Contains(p.Detail, "SLUICE_ADMIN_KEY") {
					t.Errorf("the refusal is %s (%v)", w.Body, err)
				}
			}
		})
	}
}

func TestAWorkerServesProfilesToo(t *testing.T) {
	t.Parallel()
	const key = "an operator's long key"
	failed := make(chan error, 1)
	served, err := serveHealth(t.Context(), "127.0.0.1:0", newRegistry(), nil, key, []string{"probe.example"}, slog.New(slog.DiscardHandler), failed)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := served.stop(); err != nil {
			t.Error(err)
		}
	}()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+served.Addr()+"/debug/pprof/heap", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	profile, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || len(profile) == 0 {
		t.Errorf("status %d, %d bytes, %v", resp.StatusCode, len(profile), err)
	}
}
