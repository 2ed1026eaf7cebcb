package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/embed/transformer/tinymodel"
)

const (
	builtinModel  = "builtin-en-256-v1"
	builtinMiniLM = "builtin-minilm"
)

// modelAt writes a model with weights derived from the seed to a directory.
func modelAt(t *testing.T, seed uint64, directory ...string) string {
	t.Helper()
	path := filepath.Join(directory...)
	tinymodel.Model{Kind: "bert", Seed: seed}.Write(t, path)
	return path
}

func TestTheDefaultModelFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	modelAt(t, 2, data, "models", "b")
	modelAt(t, 1, data, "models", "a")
	modelAt(t, 9, data, "models", ".download")
	if err := os.Mkdir(filepath.Join(data, "models", "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "models", "README"), []byte("not a model"), 0o600); err != nil {
		t.Fatal(err)
	}
	ids := func(c config.Config) []string {
		t.Helper()
		e, err := openEmbedders(c, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return e.ids()
	}
	alone := func(seed uint64) string {
		return ids(config.Config{EmbedDir: modelAt(t, seed, t.TempDir()), DataDir: t.TempDir()})[0]
	}
	a, b, c := alone(1), alone(2), alone(3)
	third := modelAt(t, 3, t.TempDir())
	for name, test := range map[string]struct {
		config config.Config
		want   []string
	}{
		"nothing is configured":              {config.Config{DataDir: t.TempDir()}, []string{builtinModel, builtinMiniLM}},
		"models lie in the data directory":   {config.Config{DataDir: data}, []string{a, b, builtinModel, builtinMiniLM}},
		"a directory is named":               {config.Config{DataDir: data, EmbedDir: third}, []string{c, a, b, builtinModel, builtinMiniLM}},
		"the directory holds a known model":  {config.Config{DataDir: data, EmbedDir: modelAt(t, 2, t.TempDir())}, []string{b, a, builtinModel, builtinMiniLM}},
		"one of these is named":              {config.Config{DataDir: data, EmbedDir: filepath.Join(data, "models", "b")}, []string{b, a, builtinModel, builtinMiniLM}},
		"a server's model is named":          {config.Config{DataDir: data, EmbedModel: "m", OpenAIKey: "k"}, []string{"openai:m", a, b, builtinModel, builtinMiniLM}},
		"both are named":                     {config.Config{DataDir: t.TempDir(), EmbedDir: third, EmbedModel: "m", OpenAIKey: "k"}, []string{"openai:m", c, builtinModel, builtinMiniLM}},
		"prefixes beside both are not of it": {config.Config{DataDir: t.TempDir(), EmbedDir: third, EmbedModel: "m", OpenAIKey: "k", QueryPrefix: "query: "}, []string{"openai:m", c, builtinModel, builtinMiniLM}},
		"a prefix of queries":                {config.Config{DataDir: t.TempDir(), EmbedDir: third, QueryPrefix: "query: "}, []string{c, builtinModel, builtinMiniLM}},
		"the best built-in model is named":   {config.Config{DataDir: data, EmbedModel: builtinMiniLM}, []string{builtinMiniLM, a, b, builtinModel}},
		"the fastest one is named":           {config.Config{DataDir: data, EmbedModel: builtinModel}, []string{builtinModel, a, b, builtinMiniLM}},
		"the fastest one comes first":        {config.Config{DataDir: data, EmbedDir: third, EmbedModel: "auto"}, []string{builtinModel, c, a, b, builtinMiniLM}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ids(test.config); strings.Join(got, " ") != strings.Join(test.want, " ") {
				t.Errorf("models %q, want %q", got, test.want)
			}
		})
	}
	if got := ids(config.Config{DataDir: data, EmbedDir: filepath.Join(data, "models", "b"), PassagePrefix: "passage: "}); len(got) != 5 || got[2] != b {
		t.Errorf("a prefix of passages hides the model that datastores were made with: %q", got)
	}
	if got := ids(config.Config{DataDir: t.TempDir(), EmbedDir: third, PassagePrefix: "passage: "})[0]; got == c {
		t.Errorf("a prefix of passages makes no other model: %q", got)
	}
}

func TestAnUnreadableModelStopsTheStartWithTheRemedy(t *testing.T) {
	t.Parallel()
	broken := modelAt(t, 1, t.TempDir())
	if err := os.WriteFile(filepath.Join(broken, "model.safetensors"), []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	if err := os.MkdirAll(filepath.Join(data, "models", "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config config.Config
		words  []string
	}{
		"there is no directory":            {config.Config{EmbedDir: "/nowhere/at/all"}, []string{"SLUICE_EMBED_DIR", `"/nowhere/at/all"`, "no such file"}},
		"there is no such built-in model":  {config.Config{EmbedModel: "builtin-bert"}, []string{"SLUICE_EMBED_MODEL", `"builtin-bert"`, builtinModel, builtinMiniLM, "auto"}},
		"there is no server for the model": {config.Config{EmbedModel: "bert"}, []string{"SLUICE_EMBED_MODEL", `"bert"`, "OPENAI_BASE_URL", builtinMiniLM}},
		"the weights are torn":             {config.Config{EmbedDir: broken}, []string{"SLUICE_EMBED_DIR", filepath.Join(broken, "model.safetensors")}},
		"an empty directory among the data": {config.Config{DataDir: data}, []string{filepath.Join(data, "models", "empty", "config.json") + " is missing",
			"move " + filepath.Join(data, "models", "empty") + " elsewhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openEmbedders(test.config, slog.New(slog.DiscardHandler))
			for _, words := range test.words {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("error %v lacks %q", err, words)
				}
			}
		})
	}
}

func TestALocalModelIsUsedForNewDatastoresOnly(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	before := p.newDatastore()
	p.must(p.upload(before, "old.txt", "", []byte("The cat sat on the mat."), nil))
	p.settled(before, time.Minute)
	p.must(p.terminate())

	modelAt(t, 1, p.dir, "models", "tiny")
	p.start()
	after := p.newDatastore()
	p.must(p.upload(after, "new.txt", "", []byte("The cat sat on the mat."), nil))
	p.must(p.upload(before, "more.txt", "", []byte("A hat is on the cat."), nil))
	for store, want := range map[string]string{before: builtinModel, after: "local:tiny-bert@"} {
		for _, s := range p.settled(store, time.Minute) {
			if s.Status != "synched" {
				t.Errorf("ended with %+v", s)
			}
		}
		var made struct{ EmbeddingModel string }
		p.must(p.get("/datastores/"+store, &made))
		if !strings.HasPrefix(made.EmbeddingModel, want) {
			t.Errorf("the model is %q, want %q", made.EmbeddingModel, want)
		}
		if found := p.query(store, "cat mat", 3); len(found) == 0 || !strings.Contains(found[0].Text, "The cat sat") {
			t.Errorf("found %+v", found)
		}
	}
	p.must(p.terminate())

	// If a model is missing, datastores that need it must report that, and all other datastores must still work.
	p.must(os.Rename(filepath.Join(p.dir, "models"), filepath.Join(p.dir, "elsewhere")))
	p.start()
	if err := p.post("/datastores/"+after+"/query", map[string]any{"query": "cat"}, nil); !refusedWith(err, 503) || !strings.Contains(err.Error(), "local:tiny-bert@") {
		t.Errorf("without its model the datastore answers %v", err)
	}
	if found := p.query(before, "cat", 3); len(found) != 2 {
		t.Errorf("found %+v", found)
	}
}

// An ingestor without the api process's model reports that and returns the job to the queue; another ingestor completes
// it.
func TestAnIngestorThatLacksTheModelLosesNothing(t *testing.T) {
	t.Parallel()
	model := modelAt(t, 1, t.TempDir())
	p := newProgram(t, "SLUICE_EMBED_DIR="+model)
	p.start()
	store := p.newDatastore()
	p.must(p.terminate())
	p.env = nil // starts without the model
	p.start()
	var made source
	p.must(p.upload(store, "cat.txt", "", []byte("The cat sat on the mat."), &made))
	for deadline := time.After(30 * time.Second); ; {
		var now source
		p.must(p.get("/datasources/"+made.ID, &now))
		if strings.Contains(now.Error, `the embedding model "local:tiny-bert@`) && strings.Contains(now.Error, "is not configured; configured models: ") {
			if now.Status == "error" {
				t.Fatalf("the job is lost: %+v", now)
			}
			break
		}
		select {
		case <-deadline:
			t.Fatalf("the missing model is not told: %+v", now)
		case <-time.After(20 * time.Millisecond):
		}
	}
	p.must(p.terminate())
	p.env = []string{"SLUICE_EMBED_DIR=" + model}
	p.start()
	if s := p.settled(store, time.Minute); len(s) != 1 || s[0].Status != "synched" {
		t.Fatalf("ended with %+v", s)
	}
}
