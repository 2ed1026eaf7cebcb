package console_test

import (
	"strings"
	"testing"
)

func TestSearchSettingsAreEditedAndRestored(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := open(s)
	c.signIn()
	var made struct {
		ID string `json:"id"`
	}
	s.call("POST", "/datastores", map[string]any{"name": "Handbook"}, &made)
	id := made.ID
	c.at("#/datastores/" + id + "/search-settings")
	c.waitVisible(".card textarea")
	c.until(`(document.querySelector('textarea[placeholder^="car"]').value = 'car, automobile\nlaptop => notebook', true)`)
	c.click("main form button.main")
	// Text that is typed while the settings are being saved must not be lost.
	c.until(`(document.querySelector('textarea[placeholder^="["]').value = ' ', true)`)
	c.until(`document.querySelector('#said').textContent === 'Saved'`)
	c.click(".pins + .actions button")
	c.typeText(".pins input", "opening hours")
	c.typeText(".pins textarea", "faq#3")
	c.click("main form button.main")
	c.waitVisible(".problem") // the document does not exist
	var got struct {
		Version  int      `json:"version"`
		Synonyms []string `json:"synonyms"`
		Pins     []struct {
			Query     string `json:"query"`
			Documents []struct {
				CustomID string `json:"customId"`
				Chunk    int    `json:"chunk"`
			} `json:"documents"`
		} `json:"pins"`
	}
	read := func() { s.call("GET", "/datastores/"+id+"/search-settings", nil, &got) }
	if read(); got.Version != 2 || len(got.Synonyms) != 2 || len(got.Pins) != 1 || got.Pins[0].Query != "opening hours" || got.Pins[0].Documents[0].CustomID != "faq" || got.Pins[0].Documents[0].Chunk != 3 {
		t.Errorf("the settings are %+v", got)
	}
	c.until(`document.querySelectorAll('ul.cards li').length === 2`)
	if typed := value[string](c, `document.querySelector('textarea[placeholder^="["]').value`); typed != " " {
		t.Errorf("the field that was changed while saving has %q", typed)
	}
	c.click("ul.cards li:last-child button")
	c.until(`document.querySelectorAll('ul.cards li').length === 3`)
	got.Pins = nil
	if read(); got.Version != 3 || len(got.Pins) != 0 || len(got.Synonyms) != 2 {
		t.Errorf("the restored settings are %+v", got)
	}
	c.hostile.Store(true) // the browser logs rejected requests
	c.clearField(`textarea[placeholder^="car"]`)
	c.typeText(`textarea[placeholder^="car"]`, "alone")
	c.click("main form button.main")
	c.waitVisible("form .problem")
	if text := value[string](c, `document.querySelector('form .problem').innerText`); !strings.Contains(text, "fewer than two terms") {
		t.Errorf("an invalid rule is reported as %q", text)
	}
}
