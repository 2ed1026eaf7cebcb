package console_test

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "make the pictures of the README anew")

// TestThePicturesOfTheReadme takes screenshots of the console after a user has uploaded handbooks and asked a question.
func TestThePicturesOfTheReadme(t *testing.T) {
	t.Parallel()
	if !*update {
		t.Skip("the pictures are made with -update")
	}
	s := start(t)
	var store, agent struct{ ID string }
	var answer struct{ ConversationID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Handbooks"}, &store)
	c := open(s)
	c.hostile.Store(true) // the policy blocks the styles in support.html
	c.signIn()
	c.at("#/datastores/" + store.ID)
	c.waitVisible(".drop")
	names := documents(t, "aurora-x2-manual.pdf", "employee-handbook.docx", "price-list.xlsx", "support.html", "installation.md")
	c.chooseFiles(names)
	s.settled(store.ID, len(names), stepTimeout)
	s.call(http.MethodPost, "/agents", map[string]any{"name": "Support", "datastoreIds": []string{store.ID}}, &agent)
	s.call(http.MethodPost, "/agents/"+agent.ID+"/query", map[string]any{"query": "How long is the warranty of the Aurora X2 pump?"}, &answer)
	c.at("#/agents/" + agent.ID + "/conversations/" + answer.ConversationID)
	c.waitVisible(".cited a")
	c.picture("console-answer.png")
	var found struct{ Data []struct{ ID string } }
	s.call(http.MethodGet, "/datasources?search=support.html&datastoreId="+store.ID, nil, &found)
	c.at("#/datasources/" + found.Data[0].ID + "?chunk=1")
	c.until(`document.querySelector('.original iframe')?.contentDocument?.querySelector('mark')`)
	c.picture("console-source.png")
}

// picture saves a screenshot of the window to docs/images.
func (t *tab) picture(name string) {
	t.Helper()
	t.do("sizing the window", chromedp.EmulateViewport(1100, 720))
	picture, err := chromedp.Run(t.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("..", "..", "docs", "images")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}
