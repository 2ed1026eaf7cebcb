package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/embed/pull"
	"github.com/sluice/sluice/pkg/embed/transformer"
)

// modelsCommand lists the configured embedding models and rerankers, and downloads known ones.
func (p commands) modelsCommand() *cobra.Command {
	models := &cobra.Command{
		Use: "models list|pull NAME", Short: "List and download embedding models and rerankers", GroupID: cli.GroupOperate,
		DisableFlagsInUseLine: true,
		Long: "Manage embedding models and rerankers that run inside the service. They are stored in the models folder of the data\n" +
			"directory; SLUICE_EMBED_DIR and RERANK_MODEL can name another folder. The service loads new models when it restarts.",
	}
	var dir, from string
	configured := func(do func(context.Context, config.Config, []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			c, err := config.ParseEnviron(p.Environ)
			if err != nil {
				return cli.WithExit(cli.Misused, err)
			}
			c.DataDir = cmp.Or(dir, c.DataDir)
			return do(cmd.Context(), c, args)
		}
	}
	list := &cobra.Command{
		Use: "list", Short: "List installed models (default first) and downloadable models", Args: cli.NoArguments,
		RunE: configured(func(_ context.Context, c config.Config, _ []string) error { return p.listModels(c) }),
	}
	var known []string
	for _, m := range pull.Known() {
		known = append(known, m.Name)
	}
	get := &cobra.Command{
		Use: "pull NAME", Short: "Download a model", Args: cli.AtMost(1), ValidArgs: known,
		Long:    "Download a model from https://huggingface.co or a mirror.",
		Example: "sluice models pull all-MiniLM-L6-v2",
		RunE: configured(func(ctx context.Context, c config.Config, args []string) error {
			name := strings.Join(args, "")
			return p.pullModel(ctx, c, name, cmp.Or(from, cli.Variable(p.Environ, "HF_ENDPOINT")))
		}),
	}
	get.Flags().StringVar(&from, "from", "", "`address` of a mirror of https://huggingface.co (HF_ENDPOINT)")
	for _, cmd := range []*cobra.Command{list, get} {
		cmd.Flags().StringVar(&dir, "data-dir", "", "data `directory` (SLUICE_DATA_DIR)")
	}
	models.AddCommand(list, get)
	return models
}

// listModels prints the available models, the default first, and then those that can be downloaded.
func (p commands) listModels(c config.Config) error {
	here, err := p.models(c)
	if err != nil {
		return err
	}
	if p.JSON {
		return p.PrintJSON(map[string]any{"data": newModelViews(here, c)})
	}
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tDIMENSIONS\t")
	for n, m := range here {
		dimensions, note := "set by the server", ""
		if m.Dimensions > 0 {
			dimensions = fmt.Sprint(m.Dimensions)
		}
		if n == 0 {
			note = "default of new datastores"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.ID, dimensions, note)
	}
	for _, name := range rerankers(c) {
		fmt.Fprintf(w, "%s\t\treranker: set RERANK_MODEL=%s\n", name, name)
	}
	for _, m := range pull.Known() {
		if !isInstalled(here, c, m) {
			fmt.Fprintf(w, "%s\t\tnot installed: sluice models pull %s (%s; %s; %d MB)\n", m.Name, m.Name, m.About, m.Licence, m.Size()/1e6)
		}
	}
	return w.Flush()
}

// rerankers returns the names of the rerankers in the data directory.
func rerankers(c config.Config) (names []string) {
	parent := filepath.Join(c.DataDir, datadir.Models)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil // the embedding models could be read, so the directory does not exist
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, ".") && transformer.IsCrossEncoder(filepath.Join(parent, name)) {
			names = append(names, name)
		}
	}
	return names
}

// modelView is the JSON form of an embedding model or reranker.
type modelView struct {
	Model      string    `json:"model"`
	Kind       pull.Kind `json:"kind"`
	Dimensions int       `json:"dimensions,omitempty"` // omitted if the server decides
	Default    bool      `json:"default"`              // whether it is the default for new datastores
	Here       bool      `json:"here"`                 // false if not installed; models pull downloads it
}

func newModelViews(installed []embed.Model, c config.Config) []modelView {
	var all []modelView
	for n, m := range installed {
		all = append(all, modelView{Model: m.ID, Kind: pull.Embedding, Dimensions: m.Dimensions, Default: n == 0, Here: true})
	}
	for _, name := range rerankers(c) {
		all = append(all, modelView{Model: name, Kind: pull.Reranker, Here: true})
	}
	for _, m := range pull.Known() {
		if !isInstalled(installed, c, m) {
			all = append(all, modelView{Model: m.Name, Kind: m.Kind})
		}
	}
	return all
}

func isInstalled(installed []embed.Model, c config.Config, known pull.Model) bool {
	if known.Kind == pull.Reranker {
		return slices.Contains(rerankers(c), known.Name)
	}
	return slices.ContainsFunc(installed, func(m embed.Model) bool { return strings.HasPrefix(m.ID, "local:"+known.Name+"@") })
}

// pullModel downloads a model and verifies that it can be opened.
func (p commands) pullModel(ctx context.Context, c config.Config, name, from string) error {
	m, ok := pull.Find(name)
	if name == "" {
		return cli.WithExit(cli.Misused, errors.New("specify a model; sluice models list shows downloadable ones"))
	}
	if !ok {
		var names []string
		for _, m := range pull.Known() {
			names = append(names, m.Name)
		}
		return cli.Misusedf("model %q cannot be downloaded by name; available: %s. To use another sentence-transformers model or cross-encoder of the BERT or "+
			"XLM-RoBERTa family, put its directory into %s", name, strings.Join(names, ", "), filepath.Join(c.DataDir, datadir.Models))
	}
	tenths := int64(0)
	directory, err := pull.Pull(ctx, pull.Config{Base: from, Dir: filepath.Join(c.DataDir, datadir.Models), Progress: func(done, total int64) {
		if now := 10 * done / total; now > tenths {
			tenths = now
			fmt.Fprintf(p.ProgressWriter(), "%3d%% of %d MB\n", 10*tenths, total/1e6)
		}
	}}, m)
	if err != nil {
		return fmt.Errorf("%w\nwithout network access, copy the model's directory to %s", err, filepath.Join(c.DataDir, datadir.Models, m.Name))
	}
	if m.Kind == pull.Reranker {
		return p.openPulledReranker(m, directory)
	}
	e, err := transformer.Open(transformer.Config{Directory: directory})
	if err != nil {
		return fmt.Errorf("opening the downloaded model: %w", err)
	}
	if p.JSON {
		return p.PrintJSON(map[string]any{"model": e.Model().ID, "directory": directory})
	}
	address := "$SLUICE_URL"
	if at, err := cli.AddressOf(c); err == nil {
		address = at
	}
	fmt.Fprintf(p.Out, `Installed %[1]s in %[2]s.
Restart the service: new datastores will use the model.
Move an existing datastore to it in its settings in the console (%[3]s), or with
  curl -X PATCH -H "Authorization: Bearer $SLUICE_API_KEY" %[3]s/datastores/ID -d '{"embeddingModel": "%[4]s"}'
`, m.Name, directory, address, e.Model().ID)
	return nil
}

// openPulledReranker verifies that a downloaded reranker can be opened.
func (p commands) openPulledReranker(m pull.Model, directory string) error {
	if _, err := transformer.OpenCrossEncoder(transformer.CrossEncoderConfig{Directory: directory}); err != nil {
		return fmt.Errorf("opening the downloaded model: %w", err)
	}
	if p.JSON {
		return p.PrintJSON(map[string]any{"model": m.Name, "directory": directory})
	}
	fmt.Fprintf(p.Out, "Installed %[1]s in %[2]s.\nSet RERANK_MODEL=%[1]s and restart the service to have it rerank the best results.\n", m.Name, directory)
	return nil
}
