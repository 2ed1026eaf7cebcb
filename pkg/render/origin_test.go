package render

import (
	"net/http"
	"testing"
)

// answering returns the handlers for a server on another origin. `permits` holds the CORS headers of its responses.
func answering(t *testing.T, permits map[string]string) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"/api": func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			t.Error("a page has something deleted")
		}
		for name, value := range permits {
			w.Header().Set(name, value)
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = w.Write([]byte("answered " + r.Method))
	}}
}

func TestServersOfOtherOriginsDecideWhatPagesMayDo(t *testing.T) {
	t.Parallel()
	b := shared(t)
	everyone := map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "Content-Type, X-Key"}
	tests := map[string]struct {
		permits map[string]string
		options string // options for the fetch call
		want    string
		asked   int
	}{
		"a reading that is permitted":                 {permits: everyone, options: `{}`, want: "answered GET;", asked: 1},
		"a reading that is not":                       {options: `{}`, want: "failed;", asked: 1},
		"a reading with a key":                        {permits: everyone, options: `{headers: {'X-Key': '1'}}`, want: "answered GET;", asked: 2},
		"a sending that is permitted":                 {permits: everyone, options: `{method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}`, want: "answered POST;", asked: 2},
		"a sending that is not, and is not sent":      {options: `{method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}`, want: "failed;", asked: 1},
		"the sending of a form that is not answered":  {options: `{method: 'POST', body: new URLSearchParams({a: 1})}`, want: "failed;", asked: 1},
		"a change, which is asked about but not made": {permits: map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "DELETE"}, options: `{method: 'DELETE'}`, want: "failed;", asked: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := serve(t, nil, answering(t, test.permits))
			s := serve(t, map[string]string{"/": shell + `<script>fetch('` + other.URL + `/api', ` + test.options + `).then(r => r.text()).then(show, () => show('failed'))</script>`}, nil)
			wantText(t, render(t, b, via(t), s.URL+"/"), test.want)
			if n := other.count("/api"); n != test.asked {
				t.Errorf("the other server got %d requests, want %d", n, test.asked)
			}
		})
	}
}
