package app

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/embed/transformer"
)

// openLocal opens the models that run in this process: the one in SLUICE_EMBED_DIR, then those in the data directory.
func (e *embedders) openLocal(c config.Config, log *slog.Logger) error {
	if c.EmbedDir != "" {
		where := transformer.Config{Directory: c.EmbedDir}
		if c.ServerEmbedModel() == "" { // otherwise the prefixes are for the server's model
			where.QueryPrefix, where.PassagePrefix = nilIfEmpty(c.QueryPrefix), nilIfEmpty(c.PassagePrefix)
		}
		if err := e.addLocal(where, log); err != nil {
			return fmt.Errorf("SLUICE_EMBED_DIR is %q: %w", c.EmbedDir, err)
		}
	}
	dirs, err := modelDirs(filepath.Join(c.DataDir, datadir.Models))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if c.PassagePrefix == "" && sameDirectory(dir, c.EmbedDir) {
			continue // already opened above
		}
		if transformer.IsCrossEncoder(dir) {
			continue // opened by openReranker if RERANK_MODEL names it
		}
		if err := e.addLocal(transformer.Config{Directory: dir}, log); err != nil {
			return fmt.Errorf("%w; repair the model, or move %s elsewhere to start without it", err, dir)
		}
	}
	return nil
}

func (e *embedders) addLocal(where transformer.Config, log *slog.Logger) error {
	began := time.Now()
	m, err := transformer.Open(where)
	if err != nil {
		return err
	}
	log.Info("embedding model loaded", "model", m.Model().ID, "dimensions", m.Model().Dimensions, "directory", where.Directory,
		"instructions", m.Kernel(), "after", time.Since(began).Round(time.Millisecond))
	e.add(embed.Cached(m, queryCache))
	return nil
}

// modelDirs returns the directories in parent, sorted by name, or none if parent doesn't exist. It skips lost+found,
// which ext file systems create, and hidden directories, which are unfinished downloads.
func modelDirs(parent string) ([]string, error) {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for embedding models: %w", err)
	}
	var dirs []string
	for _, entry := range entries {
		dir := filepath.Join(parent, entry.Name())
		if info, err := os.Stat(dir); err == nil && info.IsDir() && !strings.HasPrefix(entry.Name(), ".") && entry.Name() != "lost+found" { // Stat follows links, so a link to a directory counts, too
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// sameDirectory reports whether two paths lead to the same existing directory.
func sameDirectory(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
