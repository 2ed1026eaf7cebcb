package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// Changed files are added once they have been unchanged for this long, so that they aren't read while being copied.
	quietTime = 300 * time.Millisecond
	// Maximum delay before files are added even if they keep changing.
	maxQuietWait = 5 * time.Second
	// Polling interval. Some file systems report no events.
	pollInterval = time.Minute
)

// fileState is a file's state at the last check.
type fileState struct {
	changed time.Time
	size    int64
}

// watcher watches folders and adds changed files to a datastore.
type watcher struct {
	p            *Program
	s            *upload
	sources      sourceFlags
	roots        []string
	notify       *fsnotify.Watcher
	known        map[string]fileState // by path
	emptyFolders map[string]bool      // folders already reported as empty
}

// watch adds the documents named by the arguments. It then watches the folders among them and adds changed files until
// ctx is done.
func (p *Program) watch(ctx context.Context, s *upload, sources sourceFlags, args []string, mirror bool) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching folders: %w", err)
	}
	defer notify.Close()
	w := &watcher{p: p, s: s, sources: sources, notify: notify, known: map[string]fileState{}, emptyFolders: map[string]bool{}}
	for _, arg := range args {
		if !isAddress(arg) {
			w.roots = append(w.roots, arg)
		}
	}
	if err := w.addAll(); err != nil { // before the first check, so no change is missed
		return err
	}
	if _, err := w.scan(); err != nil {
		return err
	}
	seen, err := p.addArguments(ctx, s, sources, args)
	if err == nil && mirror {
		err = s.mirror(ctx, w.roots, seen)
	}
	if ended := p.printWatchOutcome(ctx, s, err); ended != nil {
		return ended
	}
	fmt.Fprintf(p.Err, "Watching %s. Press Ctrl-C to stop.\n", firstNames(w.roots))
	return w.follow(ctx)
}

// printWatchOutcome prints and clears the results of one check of the folders. Unlike printOutcome, it doesn't return
// an error if only some documents failed.
func (p *Program) printWatchOutcome(ctx context.Context, s *upload, err error) error {
	if ctx.Err() != nil && err != nil {
		return nil
	}
	err = p.printOutcome(ctx, s, err)
	if ExitOf(err) == Partly {
		err = nil
	}
	s.out.Found, s.out.Unchanged, s.out.Sent, s.out.Synched, s.out.Failed, s.out.Deleted, s.out.LeftOut, s.out.alreadyProcessed = 0, 0, 0, 0, 0, 0, 0, 0
	s.out.Documents, s.out.Failures, s.out.Left = []documentResult{}, []failure{}, []failure{}
	return err
}

// follow adds files to the datastore as they change, until ctx is done.
func (w *watcher) follow(ctx context.Context) error {
	regularly := time.NewTicker(pollInterval)
	defer regularly.Stop()
	calm := time.NewTimer(0) // fires at once, for changes during the first check
	defer calm.Stop()
	var since time.Time // when the first change that has not been added yet occurred
	for {
		select {
		case <-ctx.Done():
			return nil // the command was stopped
		case event, open := <-w.notify.Events:
			if !open {
				return errors.New("watching folders: no more events")
			}
			if event.Op == fsnotify.Chmod {
				continue
			}
			if since.IsZero() {
				since = time.Now()
			}
			calm.Reset(min(quietTime, max(0, maxQuietWait-time.Since(since))))
			continue
		case err := <-w.notify.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watching folders: %w", err)
			}
		case <-calm.C:
		case <-regularly.C:
		}
		since = time.Time{}
		if err := w.step(ctx); err != nil {
			return Fault(ctx, err)
		}
	}
}

// step uploads all changes since the last check.
func (w *watcher) step(ctx context.Context) error {
	if err := w.addAll(); err != nil {
		return err
	}
	changes, err := w.scan()
	if err != nil || len(changes.sent)+len(changes.deleted) == 0 {
		return err
	}
	docs := func(yield func(*document, error) bool) {
		for _, d := range changes.sent {
			if !yield(d, nil) {
				return
			}
		}
	}
	err = w.s.run(ctx, singleUnits(iter.Seq2[*document, error](docs)))
	if err == nil {
		err = w.s.remove(ctx, changes.deleted)
	}
	return w.p.printWatchOutcome(ctx, w.s, err)
}

// addAll starts watching any folders that aren't watched yet.
func (w *watcher) addAll() error {
	for _, root := range w.roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist) && path != root:
				return nil
			case err != nil:
				return err
			case !entry.IsDir():
				return nil
			case isHidden(root, path):
				return fs.SkipDir
			}
			return w.notify.Add(path)
		})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return WithExit(NotFound, fmt.Errorf(
				"folder %q no longer exists, so it is no longer watched; its documents stay in the datastore", root))
		case err != nil:
			return fmt.Errorf("watching %s (the system limits the number of watched folders; on Linux, raise fs.inotify.max_user_watches): %w", root, err)
		}
	}
	return nil
}

// changes holds what happened in the folders since the last check.
type changes struct {
	sent    []*document
	deleted []string // custom ids
}

// scan returns what changed in the folders since the last check.
func (w *watcher) scan() (changes, error) {
	var c changes
	now := map[string]fileState{}
	for _, root := range w.roots {
		has := false
		for d, err := range folder(root, w.sources.choice, w.sources.metadata, func(string, string) {}) {
			if err != nil {
				return c, err
			}
			info, err := os.Stat(d.path)
			if err != nil {
				continue // deleted in the meantime
			}
			has = true
			now[d.path] = fileState{info.ModTime(), info.Size()}
			if w.known[d.path] != now[d.path] {
				c.sent = append(c.sent, d)
			}
		}
		w.keepUnmounted(root, has, now)
	}
	for path := range w.known {
		if _, there := now[path]; !there {
			c.deleted = append(c.deleted, file(path, true, nil).key)
		}
	}
	slices.Sort(c.deleted)
	w.known = now
	return c, nil
}

// keepUnmounted keeps the documents from a watched folder that has become empty, because the folder is probably just
// not mounted. If `has` says that the folder has no files, keepUnmounted adds the folder's known files to `now`.
func (w *watcher) keepUnmounted(root string, has bool, now map[string]fileState) {
	if has {
		w.emptyFolders[root] = false
		return
	}
	kept := 0
	for path, was := range w.known {
		if _, there := now[path]; !there && isInside(root, filepath.ToSlash(filepath.Clean(path))) {
			now[path] = was
			kept++
		}
	}
	if kept > 0 && !w.emptyFolders[root] {
		w.emptyFolders[root] = true
		w.s.show.printLine(fmt.Sprintf("folder %s had %d files and is now empty: nothing was deleted; check that it is mounted", oneLine(root), kept))
	}
}
