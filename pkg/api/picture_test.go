package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/extract/format"
)

type drawer func(ctx context.Context, content string, page int) ([]byte, error)

func (f drawer) Draw(ctx context.Context, content io.Reader, page int) ([]byte, error) {
	text, err := io.ReadAll(content)
	if err != nil {
		return nil, err
	}
	return f(ctx, string(text), page)
}

func TestAPictureShowsAPageOfTheOriginal(t *testing.T) {
	t.Parallel()
	s := newService(t, func(_ *api.Options, d *api.Deps) {
		d.Drawer = drawer(func(_ context.Context, content string, page int) ([]byte, error) {
			switch page {
			case 1, 2:
				return []byte(strings.Repeat(content, page)), nil
			case 3:
				return nil, format.Errorf(format.NoPage, "the file has no page 3; its pages are 1 to 2")
			default:
				return nil, format.Errorf(format.Damaged, "page 4 cannot be drawn")
			}
		})
	})
	at := "/datasources/" + s.newText(s.newDatastore(), "picture") + "/picture"
	for path, want := range map[string]string{at: "picture", at + "?page=2": "picturepicture"} {
		a := s.call("GET", path, nil).want(200)
		if string(a.body) != want || a.header.Get("Content-Type") != "image/png" {
			t.Errorf("%s is %q of the type %s", path, a.body, a.header.Get("Content-Type"))
		}
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "private, no-store"} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	s.call("HEAD", at, nil).want(200)
	s.call("GET", at+"?page=3", nil).problem(404)
	s.call("GET", at+"?page=4", nil).problem(409)
	s.call("GET", at+"?page=0", nil).problem(400)
	s.stranger().call("GET", at, nil).problem(404)
	s.as("").call("GET", at, nil).problem(403)
}

// TestAWorkspaceDrawsOnePageAtATime requests several pages from one workspace and blocks while the first is being
// rendered. The others must wait, but another workspace's page must be rendered.
func TestAWorkspaceDrawsOnePageAtATime(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	drawn := map[string]int{} // drawings in progress by content
	started, goOn := make(chan struct{}, 10), make(chan struct{})
	s := newService(t, func(_ *api.Options, d *api.Deps) {
		d.Drawer = drawer(func(_ context.Context, content string, _ int) ([]byte, error) {
			mu.Lock()
			drawn[content]++
			if drawn[content] > 1 {
				t.Errorf("%d pages of one workspace are drawn at once", drawn[content])
			}
			mu.Unlock()
			if content == "slow" {
				started <- struct{}{}
				<-goOn
			}
			mu.Lock()
			defer mu.Unlock()
			drawn[content]--
			return []byte("drawn"), nil
		})
	})
	slow := "/datasources/" + s.newText(s.newDatastore(), "slow") + "/picture"
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if a := s.call("GET", slow, nil); a.status != http.StatusOK {
				t.Errorf("the slow workspace is answered %d: %s", a.status, a.body)
			}
		})
	}
	<-started
	other := s.stranger()
	other.call("GET", "/datasources/"+other.newText(other.newDatastore(), "quick")+"/picture", nil).want(200)
	close(goOn)
	all.Wait()
}
