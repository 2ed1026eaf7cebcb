package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// clockVariable is the environment variable with the path to the clock offset's file. Only programs with the clock
// patch read it.
const clockVariable = "CONSISTENCY_CLOCK"

// edit replaces a passage that must occur exactly once in a source file.
type edit struct{ file, old, new string }

// clockEdits make the program shift its clock by the offset in a file. Releases don't contain them.
var clockEdits = []edit{
	{"pkg/app/main.go", "return mainWith(hooks{}, shape,", "return mainWith(hooks{now: consistencyClock()}, shape,"},
	{"pkg/app/main.go", "func mainWith(", `// consistencyClock returns a clock that deviates by the duration in a file.
func consistencyClock() func() time.Time {
	file := os.Getenv("` + clockVariable + `")
	if file == "" {
		return nil
	}
	return func() time.Time {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		by, err := time.ParseDuration(string(text))
		if err != nil {
			panic(err)
		}
		return time.Now().UTC().Add(by)
	}
}

func mainWith(`},
	{"pkg/app/main.go", "\"syscall\"\n", "\"syscall\"\n\t\"time\"\n"},
}

// planted maps names to faults that can be built into the program, to show that the checker detects them.
var planted = map[string][]edit{
	// The old content's index rows are removed as soon as the new content is accepted, before it is searchable.
	"early-sweep": {{"pkg/catalog/resources/content.go", "DatasourceID: r.ID, Originals: []string{old.Key},", "DatasourceID: r.ID, Originals: []string{old.Key}, Below: r.ActiveGeneration + 1,"}},
	// A request still stores its documents after another process has taken over its idempotency key.
	"no-claim-fence": {{"pkg/catalog/accounts/idempotency.go", "	return db.WithFence(ctx, func(ctx context.Context, t *db.Tx) error {", "	return ctx\n	return db.WithFence(ctx, func(ctx context.Context, t *db.Tx) error {"}},
	// An older version of the content can become active after a newer one.
	"no-generation-fence": {{"pkg/domain/transition.go", "	case ev.Generation > d.ActiveGeneration:\n		if d.ActiveGeneration > 0", "	case ev.Generation > 0:\n		if d.ActiveGeneration > 0"}},
	// Queries accept hits from every generation.
	"mixed-generations": {{"pkg/retrieve/search.go", "if o.ActiveGeneration == 0 || o.ActiveGeneration != h.Generation || o.DatastoreID != ds.ID {", "if o.ActiveGeneration == 0 || o.DatastoreID != ds.ID {"}},
	// A workspace can read other workspaces' datasources.
	"no-tenant-check": {{"pkg/catalog/record/counts.go", "FROM datasources WHERE workspace_id || '' = ? AND id = ? AND `+NotDeleted, ws, id))", "FROM datasources WHERE ? || '' <> '' AND id = ? AND `+NotDeleted, ws, id))"}},
}

// Planted returns the names of the faults that Build can plant.
func Planted() []string { return slices.Sorted(maps.Keys(planted)) }

// patched returns the patched source files, by path below root. The patches plant the given faults and make the program
// shift its clock by the offset in a file.
func patched(root string, faults ...string) (map[string]string, error) {
	edits := slices.Clone(clockEdits)
	for _, name := range faults {
		more, ok := planted[name]
		if !ok {
			return nil, fmt.Errorf("there is no fault %q to plant; use one of %s", name, strings.Join(Planted(), ", "))
		}
		edits = append(edits, more...)
	}
	changed := map[string]string{}
	for _, e := range edits {
		text, ok := changed[e.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, fmt.Errorf("patching the program: %w; run this in the directory of the source code", err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("patching %s: %q occurs %d times; adapt the patch to the code", e.file, e.old, n)
		}
		changed[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return changed, nil
}

// Build builds the program in `dir` from the source code in the working directory, which doesn't change: the compiler
// gets patched copies of some files. The patches plant the faults and make the program read its clock offset from a
// file.
func Build(ctx context.Context, dir string, faults ...string) (program string, err error) {
	changed, err := patched(".", faults...)
	if err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range changed {
		from, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[from] = to
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, b, 0o600); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "sluice")
	out, err := exec.CommandContext(ctx, "go", "build", "-overlay", list, "-ldflags", "-s -w", "-o", program, "./cmd/sluice").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the patched program: %w: %s", err, out)
	}
	return program, nil
}

// setClock atomically replaces the clock offset's file.
func setClock(file string, by time.Duration) error {
	if err := os.WriteFile(file+".new", []byte(by.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
