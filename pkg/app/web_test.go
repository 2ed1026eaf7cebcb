package app

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/config"
)

func TestABrowserThatCannotBeRunIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"a file that is nowhere": filepath.Join(t.TempDir(), "chromium"), "a name that is not on the PATH": "no-such-chromium", "a directory": t.TempDir(),
	} {
		browser, err := openBrowser(config.Config{Chromium: path}, t.TempDir(), slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "SLUICE_CHROMIUM \"") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, browser, err)
		}
	}
}
