package console_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// hasFocus waits for an element to get the focus and then types text.
func (t *tab) hasFocus(css, then string) {
	t.Helper()
	t.waitVisible(css)
	t.until(`document.activeElement === document.querySelector(` + quote(css) + `)`)
	if then != "" {
		t.keys(then)
	}
}

func (t *tab) waitFormError(what string) {
	t.Helper()
	t.until(`[...document.querySelectorAll('[role=alert]')].some((p) => p.textContent.trim() === ` + quote(what) + `)`)
}

// TestTypingStartsInTheFirstField never presses Tab. On each page and in each dialog, the first field must already have
// the focus, and errors must refer to fields by their labels.
func TestTypingStartsInTheFirstField(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := open(s)
	c.hostile.Store(true) // the browser logs rejected requests
	c.at("#/")
	c.hasFocus("input[name=key]", "\r")
	c.waitFormError("“API key” is required.")
	c.keys("sk_wrong\r")
	c.waitFormError("The API key is wrong, revoked or expired")
	c.keys(testKey + "\r") // the wrong key is selected, so typing overwrites it
	c.waitVisible("ol.steps")
	var store struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Notes"}, &store)
	c.at("#/datastores/" + store.ID)
	c.click(".drop .actions button:nth-of-type(3)") // the button for pasting text
	c.hasFocus("dialog textarea", "")
	c.click("dialog button.main")
	c.waitFormError("“Text” is required.")
	c.hasFocus("dialog textarea", "The kettle holds three litres.")
	c.click("dialog button.main")
	c.until(`!document.querySelector('dialog')`)
	c.click(".drop .actions button:nth-of-type(4)") // the button for adding a web page
	c.hasFocus("dialog input", "ftp://example.com/\r")
	c.until(`document.querySelector('dialog [role=alert]')?.textContent.startsWith('The address is "ftp://example.com/"')`)
	c.until(`(document.querySelector('dialog input').value = '', true)`)
	c.keys("kettle.invalid/manual\r")
	c.until(`!document.querySelector('dialog')`)
	var list struct {
		Data []struct {
			Config struct {
				SourceURL string `json:"source_url"`
			}
		}
	}
	s.call(http.MethodGet, "/datasources?type=web_page&datastoreId="+store.ID, nil, &list)
	if len(list.Data) != 1 || list.Data[0].Config.SourceURL != "https://kettle.invalid/manual" {
		t.Errorf("an address without a scheme became %+v", list.Data)
	}
	c.click(".drop .actions button:nth-of-type(5)") // the button for adding a website
	c.hasFocus("dialog input", "\r")
	c.waitFormError("Enter the website’s address or, under More, its sitemap.")
	c.hasFocus("dialog input", "k") // typing removes the error
	c.until(`!document.querySelector('dialog [role=alert]')`)
	c.at("#/datastores/" + store.ID + "/search")
	c.hasFocus("main input[type=search]", "")
	// The focus is on Cancel, so that a stray key press deletes nothing.
	c.at("#/datastores/" + store.ID + "/settings")
	c.waitVisible("main .card > .actions button:last-child")
	c.click("main .card > .actions button:last-child")
	c.until(`document.activeElement.textContent === 'Cancel'`)
}

// TestTablesOnAPhoneDoNotBreakWords checks that wide tables scroll sideways instead.
func TestTablesOnAPhoneDoNotBreakWords(t *testing.T) {
	t.Parallel()
	c := open(start(t))
	c.signIn()
	c.do("narrowing the tab", chromedp.EmulateViewport(390, 844))
	for _, view := range []string{"#/keys", "#/usage"} {
		c.at(view)
		c.waitVisible("table th")
		broken := value[string](c, `[...document.querySelectorAll('table th, table button')].filter((cell) => {
			const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode();
			return text && text.data.split(/\s+/).some((word, i, words) => {
				const range = document.createRange();
				const at = words.slice(0, i).join(' ').length + (i > 0 ? 1 : 0);
				range.setStart(text, at);
				range.setEnd(text, at + word.length);
				return range.getClientRects().length > 1;
			});
		}).map((cell) => cell.textContent).join(', ')`)
		if broken != "" {
			t.Errorf("%s breaks the words %s", view, broken)
		}
		if width := value[int](c, `document.documentElement.scrollWidth`); width > 390 {
			t.Errorf("%s is %d pixels wide", view, width)
		}
	}
}
