package render

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/lockdir"
)

const (
	profilePattern = "sluice-render-*"
	maxDirPath     = 60 // in bytes; a socket's path may have 107 bytes, and Chromium adds 45 to the directory's
)

// makeProfile creates a local browser's directory in `parent` and removes the directories left behind by killed
// processes. Chromium creates a socket in its directory, and the length of a socket's path is limited. If the path
// would be too long in `parent`, the directory is created in the system's temporary directory instead.
func makeProfile(parent string) (*lockdir.Dir, error) {
	if parent == "" || len(filepath.Join(parent, profilePattern))+len("0123456789") > maxDirPath {
		parent = os.TempDir()
	}
	dir, err := lockdir.Make(parent, profilePattern)
	if err != nil {
		return nil, fmt.Errorf("creating the browser's profile: %w", err)
	}
	return dir, nil
}
