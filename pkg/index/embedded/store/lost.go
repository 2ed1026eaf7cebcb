package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

// ErrLost is returned by a write whose files were deleted under it.
var ErrLost = errors.New("the space's files were deleted while they were in use: try again")

// file is one that an open space holds open: deleted or replaced it would go on taking writes that nobody ever sees.
type file struct {
	path string
	info os.FileInfo
}

// remember notes which files are open.
func (s *Space) remember() error {
	paths := []string{filepath.Join(s.dir, databaseName)}
	if s.vectors.Full != nil {
		paths = append(paths, s.vectors.Full.Path)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("looking at what was opened: %w", err)
		}
		s.files = append(s.files, file{path, info})
	}
	return nil
}

// IsLost reports whether a file is no longer the one that was opened, whichever of the directories above it has been
// deleted, moved or replaced. It takes some microseconds.
func (s *Space) IsLost() bool {
	for _, f := range s.files {
		info, err := os.Stat(f.path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, f.info) {
			return true
		}
	}
	return false
}

// hasVectors reports whether vectors were written in a space's directory.
func hasVectors(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, vector.FileName))
	return err == nil && info.Size() > 0
}

// Abandon has the space reopened before its next use. It reports whether it was not to be already.
func (s *Space) Abandon() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.broken
	s.broken = true
	return !was
}

// Present reports whether a space lies in a directory, whole or in part.
func Present(dir string) bool { return Exists(filepath.Join(dir, databaseName)) || hasVectors(dir) }

// Exists reports whether a file is there. When that cannot be told, opening it will say why.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
