package app

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
)

const profilesPath = "/debug/pprof/"

// withProfiles serves runtime profiles for `go tool pprof` to the operator, identified by `key`, and passes other
// requests to `next`. If `key` is "", it serves no profiles. It never serves the process's command line, which may
// contain secrets.
func withProfiles(key string, next http.Handler) http.Handler {
	if key == "" {
		return next
	}
	profiles := http.NewServeMux()
	profiles.HandleFunc("GET "+profilesPath, pprof.Index) // serves all profiles of runtime/pprof by name
	profiles.HandleFunc("GET "+profilesPath+"profile", pprof.Profile)
	profiles.HandleFunc("GET "+profilesPath+"symbol", pprof.Symbol)
	profiles.HandleFunc("GET "+profilesPath+"trace", pprof.Trace)
	caller := newOperator(key)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, profilesPath) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		if !caller.isAuthorized(r) {
			problem.Refuse(w, domain.CodeUnauthorized, "profiling requires the header Authorization: Bearer <key>; the key is the value of SLUICE_ADMIN_KEY")
			return
		}
		profiles.ServeHTTP(w, r)
	})
}
