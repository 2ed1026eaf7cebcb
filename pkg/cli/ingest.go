package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/client"
)

// ingestOptions holds the flags shared by all commands that add documents.
type ingestOptions struct {
	where     ConnectionFlags
	datastore string
	create    bool
	wait      bool
	parallel  int
}

func (f *ingestOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.datastore, "datastore", "", "target `datastore`, by id or name")
	cmd.Flags().BoolVar(&f.create, "create", false, "create the datastore if it does not exist")
	cmd.Flags().BoolVar(&f.wait, "wait", true, "wait until all documents are searchable; with --wait=false, only until they are stored")
	cmd.Flags().IntVar(&f.parallel, "parallel", 8, "concurrent requests, 1 to 64")
	f.where.Flags(cmd)
}

// open connects to the datastore and prepares an upload.
func (p *Program) open(ctx context.Context, f ingestOptions) (*upload, error) {
	if f.parallel < 1 || f.parallel > 64 {
		return nil, Misusedf("--parallel %d: must be between 1 and 64", f.parallel)
	}
	if f.datastore == "" {
		return nil, Misusedf("specify --datastore with an id or name")
	}
	c, err := p.connect(f.where, importAttempts, false)
	if err != nil {
		return nil, err
	}
	quick, err := p.connect(f.where, interactiveAttempts, false) // a wrong address should fail quickly
	if err != nil {
		return nil, err
	}
	defer quick.Close()
	store, err := p.datastoreOrNew(ctx, quick, f.datastore, f.create)
	if err != nil {
		return nil, err
	}
	s := &upload{client: c, storeID: store.Id, parallel: f.parallel, wait: f.wait, show: newDisplay(p.Err)}
	s.out.Datastore.ID, s.out.Datastore.Name = store.Id, store.Name
	s.out.Documents, s.out.Failures, s.out.Left = []documentResult{}, []failure{}, []failure{}
	s.out.Warnings = []warning{}
	s.stored, err = readStoredDocuments(ctx, c, store.Id)
	return s, err
}

// printOutcome prints a run's results and returns the command's error.
func (p *Program) printOutcome(ctx context.Context, s *upload, err error) error {
	if bar, ok := s.show.(*progressBar); ok {
		s.draw()
		bar.End("")
	}
	if p.JSON {
		if told := p.PrintJSON(s.out); told != nil {
			return told
		}
	} else {
		for i, l := range s.out.Left {
			if i == maxShown {
				fmt.Fprintf(p.Out, "  … and %d more skipped\n", len(s.out.Left)-i)
				break
			}
			fmt.Fprintf(p.Out, "  skipped: %s: %s\n", oneLine(l.Name), oneLine(l.Error))
		}
		fmt.Fprintf(p.Out, "%s in %q\n", s.out.summary(), oneLine(s.out.Datastore.Name))
		if v := s.out.Verified; v != nil {
			fmt.Fprintf(p.Out, "verified: %s in the vector store, %d in the datastore, %d searchable\n", Counted(v.Files, "file"), v.Stored, v.Searchable)
		}
	}
	switch {
	case ctx.Err() != nil:
		return WithExit(Stopped, errors.New("stopped; run the command again to continue: documents that were already sent are skipped"))
	case err != nil:
		return err
	case s.out.Failed > 0:
		return WithExit(Partly, fmt.Errorf("%s failed for the reasons above; fix these and run the command again", Counted(s.out.Failed, "document")))
	}
	return nil
}

type ingestFlags struct {
	ingestOptions
	site, refetch, watch, mirror bool
	include, exclude, metadata   []string
	refresh                      string
	maxPages, maxDepth           int
}

func (p *Program) ingestCommand() *cobra.Command {
	var f ingestFlags
	cmd := &cobra.Command{
		Use: "ingest PATH|URL… --datastore DATASTORE", Short: "Add files, folders, web pages and websites", GroupID: GroupUse,
		Long: "Add files, folders, web pages and, with --site, websites, and wait until they are searchable. Patterns must be\n" +
			"quoted, as in 'docs/**/*.md'. A file's path, as given here, becomes its custom id. Unchanged files are not sent\n" +
			"again. A changed file replaces its old version as soon as the new one is searchable. In folders, hidden files, empty\n" +
			"files and unsupported types are skipped. A ZIP archive is read like a folder if you name it, or give a pattern\n" +
			"that ends with .zip.",
		Example: "sluice ingest handbook/ --datastore Handbook --create --watch\n" +
			"sluice ingest 'docs/**/*.md' README.md --datastore Docs --metadata team=web\n" +
			"sluice ingest https://example.com/pricing --datastore Web --refresh 24h\n" +
			"sluice ingest https://example.com/ --site --datastore Web --max-pages 500",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return Misusedf("specify files, folders or web addresses")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return Fault(cmd.Context(), p.ingest(cmd.Context(), f, args))
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.site, "site", false, "crawl the whole site at each address, using its sitemap or links")
	flags.IntVar(&f.maxPages, "max-pages", 0, "maximum pages per site (default: set by the service)")
	flags.IntVar(&f.maxDepth, "max-depth", 0, "maximum link depth from the root of a site (default: set by the service)")
	flags.StringVar(&f.refresh, "refresh", "", "`interval` at which pages are fetched again, such as 24h or 7d, or a cron expression")
	flags.BoolVar(&f.refetch, "refetch", false, "fetch pages and sites again even if they already exist")
	flags.StringArrayVar(&f.include, "include", nil,
		"add only files or site paths that match a `pattern`; repeatable")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "skip files and site paths that match a `pattern`; repeatable")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "metadata for filtering queries, as `key=value`; repeatable")
	flags.BoolVar(&f.mirror, "delete", false, "delete documents whose files no longer exist in these folders")
	flags.BoolVar(&f.watch, "watch", false, "keep running and follow changes in the folders until Ctrl-C")
	f.flags(cmd)
	return cmd
}

// sources parses the flags that apply to the files, folders and addresses in args.
func (f ingestFlags) sources(args []string) (sourceFlags, error) {
	var s sourceFlags
	var err error
	if s.metadata, err = pairs(f.metadata); err != nil {
		return s, err
	}
	s.choice = newChoice(f.include, f.exclude)
	s.site = f.site
	s.config.Refresh = ptrOrNil(f.refresh)
	if f.site {
		s.config.MaxPages, s.config.MaxDepth = ptrOrNil(f.maxPages), ptrOrNil(f.maxDepth)
		if len(f.include) > 0 {
			s.config.Include = &f.include
		}
		if len(f.exclude) > 0 {
			s.config.Exclude = &f.exclude
		}
	}
	hasAddress := slices.ContainsFunc(args, isAddress)
	switch {
	case f.site && !hasAddress:
		return s, Misusedf("--site needs a web address")
	case !f.site && (f.maxPages != 0 || f.maxDepth != 0):
		return s, Misusedf("--max-pages and --max-depth need --site")
	case (f.refresh != "" || f.refetch) && !hasAddress:
		return s, Misusedf("--refresh and --refetch need a web address")
	}
	if f.watch || f.mirror {
		for _, arg := range args {
			if info, err := os.Stat(arg); !isAddress(arg) && (err != nil || !info.IsDir()) {
				return s, Misusedf("--watch and --delete only work with folders, but %q is not a folder", arg)
			}
		}
		if !slices.ContainsFunc(args, func(a string) bool { return !isAddress(a) }) {
			return s, Misusedf("--watch and --delete only work with folders; for web addresses, use --refresh 24h")
		}
	}
	if f.watch && !f.wait {
		return s, Misusedf("--watch and --wait=false cannot be combined")
	}
	return s, nil
}

// pairs parses arguments of the form key=value.
func pairs(given []string) (map[string]any, error) {
	if len(given) == 0 {
		return nil, nil
	}
	out := map[string]any{}
	for _, kv := range given {
		key, value, ok := strings.Cut(kv, "=")
		if !ok || key == "" {
			return nil, Misusedf("--metadata %q: must be key=value", kv)
		}
		var scalar any
		if json.Unmarshal([]byte(value), &scalar) == nil {
			switch scalar.(type) {
			case float64, bool:
				out[key] = scalar
				continue
			}
		}
		out[key] = value
	}
	return out, nil
}

func (p *Program) ingest(ctx context.Context, f ingestFlags, args []string) error {
	sources, err := f.sources(args)
	if err != nil {
		return err
	}
	if err := sources.present(args); err != nil {
		return err
	}
	s, err := p.open(ctx, f.ingestOptions)
	if err != nil {
		return err
	}
	defer s.client.Close()
	s.retry = f.refetch
	if f.watch {
		return p.watch(ctx, s, sources, args, f.mirror)
	}
	seen, err := p.addArguments(ctx, s, sources, args)
	if err == nil && f.mirror {
		err = s.mirror(ctx, args, seen)
	}
	return p.printOutcome(ctx, s, err)
}

// present checks up front that all named files exist and that every pattern matches a file.
func (f sourceFlags) present(args []string) error {
	for _, arg := range args {
		if isAddress(arg) {
			continue
		}
		_, err := os.Stat(arg)
		switch {
		case errors.Is(err, fs.ErrNotExist) && isPattern(arg):
			for _, err := range f.filesMatching(arg, func(string, string) {}) {
				if err != nil {
					return err
				}
				break // the pattern matches
			}
		case errors.Is(err, fs.ErrNotExist):
			return noSuchFile(arg)
		case err != nil:
			return err
		}
	}
	return nil
}

// addArguments adds the documents named by the arguments. It returns the custom ids of those documents that are files.
func (p *Program) addArguments(ctx context.Context, s *upload, sources sourceFlags, args []string) (seen map[string]bool, err error) {
	seen = map[string]bool{}
	var mu sync.Mutex
	var left []failure
	documents := func(yield func(*document, error) bool) {
		for d, err := range sources.documents(args, func(name, why string) {
			mu.Lock()
			defer mu.Unlock()
			left = append(left, failure{Name: name, Error: why})
		}) {
			if d != nil {
				if seen[d.key] && d.path != "" {
					continue // the file was named twice
				}
				seen[d.key] = true
			}
			if !yield(d, err) {
				return
			}
		}
	}
	err = s.run(ctx, singleUnits(iter.Seq2[*document, error](documents)))
	for _, l := range left {
		s.skip(l.Name, l.Error)
	}
	return seen, err
}

// mirror deletes documents from the datastore if their files no longer exist in the folders.
func (s *upload) mirror(ctx context.Context, roots []string, seen map[string]bool) error {
	keys, err := deletedKeys(roots, s.stored.files(), seen)
	if err != nil {
		return err
	}
	return s.remove(ctx, keys)
}

// deletedKeys returns the custom ids of stored files that no longer exist in the folders. Files that exist but are
// excluded by patterns don't count as deleted. If the datastore has files from a folder that is now empty, deletedKeys
// returns an error, because the folder is probably not mounted.
func deletedKeys(roots, keys []string, seen map[string]bool) (lost []string, err error) {
	for _, root := range roots {
		if isAddress(root) {
			continue
		}
		has := false
		var missing []string
		for key := range seen {
			has = has || isInside(root, key)
		}
		for _, key := range keys {
			if !seen[key] && isInside(root, key) && !mayExist(key) {
				missing = append(missing, key)
			}
		}
		if len(missing) > 0 && !has {
			return nil, fmt.Errorf("folder %q is empty, but the datastore has %s from it, so nothing was deleted: check that the folder is mounted; "+
				"to delete all documents, delete the datastore", root, Counted(len(missing), "file"))
		}
		lost = append(lost, missing...)
	}
	slices.Sort(lost)
	return slices.Compact(lost), nil // folders may be nested
}

// mayExist reports whether a custom id is the path of a file that exists. If it lacks permission to check the path, it
// returns true.
func mayExist(key string) bool {
	info, err := os.Stat(filepath.FromSlash(key))
	return err == nil && !info.IsDir() || errors.Is(err, fs.ErrPermission)
}

// isInside reports whether path, written with forward slashes as in custom ids, is inside the folder root.
func isInside(root, path string) bool {
	root = filepath.ToSlash(filepath.Clean(root))
	return root == "." && !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "../") ||
		strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// remove deletes the files with these custom ids.
func (s *upload) remove(ctx context.Context, keys []string) error {
	for _, key := range keys {
		d := &document{kind: client.DatasourceTypeFile, key: key, name: key}
		for _, id := range s.stored.ids(documentKey{d.kind, key}) {
			if err := s.delete(d, id)(ctx)(); err != nil {
				return err
			}
		}
	}
	return nil
}
