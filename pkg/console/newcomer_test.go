package console_test

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/config"
)

// terminal records what the service prints for its user while it starts.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// TestANewcomerHasACitedAnswer acts like a user who knows only what the terminal prints and who always takes the first
// action that a page offers. It starts with an empty directory and ends at the passage that supports the answer.
func TestANewcomerHasACitedAnswer(t *testing.T) {
	t.Parallel()
	began := time.Now()
	settings, err := config.Parse(nil, []string{"SLUICE_ADDR=127.0.0.1:0", "SLUICE_DATA_DIR=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var screen terminal
	running := app.NewService(settings, app.Options{Log: slog.New(slog.DiscardHandler), Out: &screen})
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := running.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`key is (sk_\S+)[\s\S]*Open (http://\S+)/ `).FindStringSubmatch(screen.String())
	if said == nil {
		t.Fatalf("the terminal says neither a key nor an address: %s", screen.String())
	}
	ready := time.Since(began)

	c := open(&service{TB: t, base: said[2]})
	steps := 0
	step := func(does func()) {
		t.Helper()
		steps++
		does()
		if value[bool](c, `document.querySelector('main [role=alert], main .problem') !== null`) {
			t.Errorf("step %d leads to a complaint: %s", steps, c.said())
		}
	}
	step(func() { c.at("#/"); c.waitVisible("input[name=key]") })
	step(func() { c.typeText("input[name=key]", said[1]+"\r"); c.waitVisible("ol.steps") })
	step(func() { c.typeText("input[name=name]", "Handbook\r"); c.waitVisible(".drop") })
	step(func() {
		c.drop(".drop", documents(t, "aurora-x2-manual.pdf")...)
		c.until(`document.querySelector('.sources .chip.synched')`)
	})
	step(func() { c.click("main button.main"); c.waitVisible(".ask textarea") }) // the page's only main button
	step(func() {
		c.typeText(".ask textarea", "How long is the warranty of the Aurora X2 pump?\r")
		c.waitVisible(".cited a")
	})
	step(func() { c.click("a.cite"); c.waitVisible(".original mark") })
	took := time.Since(began)
	if marked := value[string](c, `document.querySelector('.original mark').innerText`); !strings.Contains(marked, "7 years") {
		t.Errorf("the citation leads to %q", marked)
	}
	t.Logf("an answer and its place after %d steps; %v without a person's own time, of which the service took %v to start",
		steps, took.Round(10*time.Millisecond), ready.Round(10*time.Millisecond))
	if all := scaled(0, 1) == 1; all && took > 2*time.Minute {
		t.Errorf("it took %v", took)
	}
}
