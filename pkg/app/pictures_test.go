package app

import (
	"bytes"
	"image/png"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/extracttest/paper"
)

// TestAReportIsIndexedFirstWithoutAndThenWithTheTextInItsPictures uploads a report with an image. One job indexes the
// report's text, and a second job adds the text in the image. The test tells the two jobs apart by their generations,
// which are part of chunk ids.
func TestAReportIsIndexedFirstWithoutAndThenWithTheTextInItsPictures(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tesseract"); err != nil || testing.Short() {
		t.Skip("Tesseract is not installed, or the tests are short: apt-get install tesseract-ocr")
	}
	g, err := paper.Screen("Error 4711: the feed pump has lost its prime", "Open the valve on the north side")
	if err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, g); err != nil {
		t.Fatal(err)
	}
	heading := func(text string) string {
		return extracttest.WordPara(`<w:outlineLvl w:val="0"/>`, text)
	}
	file := extracttest.Word(t, heading("Opening hours")+extracttest.WordPara("", "The canteen closes at nine.")+heading("Panel")+`<w:p><w:r><w:drawing><a:blip r:embed="rId1"/></w:drawing></w:r></w:p>`,
		extracttest.Part{"word/media/image1.png", picture.String()}, extracttest.Rels("word/document.xml", "rId1 image media/image1.png"))
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	p.must(p.upload(store, "report.docx", "", file, nil))
	if s := p.settled(store, 5*time.Minute); s[0].Status != "synched" {
		t.Fatalf("%s: %s", s[0].Status, s[0].Error)
	}
	type result struct {
		Text     string
		ChunkID  string `json:"chunk_id"`
		Metadata struct {
			Document struct{ OCRConfidence float64 }
		}
	}
	for question, want := range map[string]struct {
		text       string
		recognised bool
	}{
		"When does the canteen close?":          {text: "closes at nine"},
		"What does error 4711 say of the pump?": {text: "lost its prime", recognised: true},
	} {
		var found []result
		p.must(p.post("/datastores/"+store+"/query", map[string]any{"query": question, "topK": 1}, &found))
		if len(found) != 1 || !strings.Contains(found[0].Text, want.text) || (found[0].Metadata.Document.OCRConfidence > 0.8) != want.recognised {
			t.Errorf("%s: found %+v", question, found)
		}
		if len(found) == 1 && !strings.Contains(found[0].ChunkID, ":2:") {
			t.Errorf("%s: the chunk %s is not from the second job", question, found[0].ChunkID)
		}
	}
}
