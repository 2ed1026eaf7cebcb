package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// longSource is a stub for the service. It responds with an answer that cites a long source, whose last sentence
// supports the answer.
func longSource(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Content-Type", "text/event-stream")
	text := strings.Repeat("Rinse the group. ", 100) + "Froth milk to 64 degrees."
	fmt.Fprintf(w, "event: answer\ndata: Froth to 64 degrees [1].\n\nevent: endpoint_response\ndata: "+
		`{"answer": "Froth to 64 degrees [1].", "conversationId": "c", "sources": [{"citation": 1, "datasource_name": "Milk", "text": %q, "source": "", "page": null, "heading": null, "highlights": [{"start": 1700, "end": 1725}]}], "sentences": []}`+
		"\n\ndata: [DONE]\n\n", text)
}

// askInChat opens the site's page and asks one question in its chat.
func askInChat(e *embedded) *tab {
	e.Helper()
	c := openWithSite(e.service, e.site)
	c.do("opening the page", chromedp.Navigate(e.site+"/"))
	c.until(`document.querySelector('sluice-chat')?.shadowRoot.querySelector('.panel')`)
	value[bool](c, `(document.querySelector('sluice-chat').open(), true)`)
	c.keys("Anything\r")
	c.until(inside(".cite"))
	return c
}

// lowContrasts is a JavaScript function that returns the names of the parts of the chat whose text has too little
// contrast.
const lowContrasts = `() => {
	const root = document.querySelector('sluice-chat').shadowRoot;
	const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
	const luminance = (color) => {
		canvas.fillStyle = color;
		canvas.fillRect(0, 0, 1, 1);
		const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255 <= .04045 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4);
		return .2126 * r + .7152 * g + .0722 * b;
	};
	return [['.user', '.user'], ['.main', '.main'], ['.launcher', '.launcher'], ['.cite', '.cite']].flatMap(([text, ground]) => {
		const a = luminance(getComputedStyle(root.querySelector(text)).color), b = luminance(getComputedStyle(root.querySelector(ground)).backgroundColor);
		const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		return contrast < 4.5 ? [text + ' ' + contrast.toFixed(2)] : [];
	}).join(', ');
}`

// TestTextOnAnyAccentIsReadable sets each of several accent colours twice: with the chat element's attribute and with
// its CSS property. The page's policy allows no style sheets.
func TestTextOnAnyAccentIsReadable(t *testing.T) {
	t.Parallel()
	c := askInChat(embed(t, strings.Replace(tag, "data-heading", `data-accent="#8a1c3c" data-heading`, 1), longSource))
	const chat = `document.querySelector('sluice-chat')`
	for _, scheme := range []string{"light", "dark"} {
		c.in(scheme, 1280)
		for _, accent := range []string{"", "#8a1c3c", "#ffdd00", "#777", "navy", "#fff", "#000", "oklch(0.7 0.25 150)", "light-dark(#222, #eee)"} {
			ways := map[string]string{"the attribute": chat + `.setAttribute('accent', ` + quote(accent) + `)`, "a style": chat + `.style.setProperty('--sluice-accent', ` + quote(accent) + `)`}
			for name, set := range ways {
				value[bool](c, `(`+set+`, true)`)
				if low := value[string](c, `(`+lowContrasts+`)()`); low != "" {
					t.Errorf("%s, accent %q by %s: contrast of %s", scheme, accent, name, low)
				}
				value[bool](c, `(`+chat+`.removeAttribute('accent'), `+chat+`.style.removeProperty('--sluice-accent'), true)`)
			}
		}
	}
	value[bool](c, `(`+chat+`.setAttribute('accent', '#8a1c3c'), true)`)
	if color := value[string](c, `getComputedStyle(`+inside(".main")+`).backgroundColor`); color != "rgb(138, 28, 60)" {
		t.Errorf("the button is %s", color)
	}
	value[bool](c, `(`+chat+`.style.setProperty('--sluice-radius', '0'), true)`)
	for _, part := range []string{"textarea", ".main", ".panel", ".user"} {
		if radius := value[string](c, `getComputedStyle(`+inside(part)+`).borderRadius`); radius != "0px" {
			t.Errorf("the corners of %s have a radius of %s", part, radius)
		}
	}
}

// TestACitationShowsTheSentence opens a long source by its citation and by its title.
func TestACitationShowsTheSentence(t *testing.T) {
	t.Parallel()
	c := askInChat(embed(t, tag, longSource))
	const seen = `(() => {
		const [log, mark] = [` + "`.log`, `details[open] mark`" + `].map((css) => document.querySelector('sluice-chat').shadowRoot.querySelector(css)?.getBoundingClientRect());
		return mark && mark.top >= log.top && mark.bottom <= log.bottom;
	})()`
	value[bool](c, inside(".cite")+`.click() ?? true`)
	c.until(seen)
	value[bool](c, inside("summary")+`.click() ?? true`)
	c.until(`!` + inside("details") + `.open`)
	value[bool](c, inside("summary")+`.click() ?? true`)
	c.until(seen)
	// The launcher's label says what a click on it does.
	for _, want := range []string{"Close the chat", "Open the chat"} {
		if label := value[string](c, inside(".launcher")+`.ariaLabel`); label != want {
			t.Errorf("the launcher says %q, want %q", label, want)
		}
		value[bool](c, inside(".launcher")+`.click() ?? true`)
	}
}
