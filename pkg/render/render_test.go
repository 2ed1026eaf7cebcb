package render

import (
	"testing"
)

func liveUntilKilled() {}

func TestAPageBuiltByScript(t *testing.T) {
	b := start(t)
	s := serve(t, map[string]string{
		"/":          `<!doctype html><title>t</title><div id=root></div><script src=app.js></script>`,
		"/app.js":    `fetch('/data.json').then(r=>r.json()).then(d=>{document.getElementById('root').innerHTML='<h1>'+d.title+'</h1>'})`,
		"/data.json": `{"title":"Built by a script"}`,
	}, nil)
	for range 3 {
		r := render(t, b, via(t), s.URL+"/")
		wantText(t, r, "<h1>Built by a script</h1>")
		t.Log(string(r.HTML), r.URL, r.Status)
	}
}
