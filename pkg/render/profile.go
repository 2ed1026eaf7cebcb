package render

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/lockdir"
)

const (
	profilePattern = "sluice-render-*"
	maxDirPath     = 60 // bytes: that of a socket has 107, of which Chromium adds 45
)

// makeProfile makes the directory of a local browser, and removes those of processes that were killed. Chromium opens a
// socket in it, whose path the system bounds; where the parent's is too long for that, the directory is made among the
// system's temporary ones.
func makeProfile(parent string) (*lockdir.Dir, error) {
	if parent == "" || len(filepath.Join(parent, profilePattern))+len("0123456789") > maxDirPath {
		parent = os.TempDir()
	}
	dir, err := lockdir.Make(parent, profilePattern)
	if err != nil {
		return nil, fmt.Errorf("making the browser's profile: %w", err)
	}
	return dir, nil
}
