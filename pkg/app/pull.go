package app

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/embed/pull"
	"github.com/sluice/sluice/pkg/embed/transformer"
)

const modelsUsage = `usage: api models list [--data-dir DIR]
       api models pull NAME [--data-dir DIR] [--from URL]
Embedding models that are run in process lie in "models" in --data-dir or SLUICE_DATA_DIR, or where SLUICE_EMBED_DIR says.
pull fetches one that list shows, from --from or HF_ENDPOINT, a mirror of https://huggingface.co. The service may be running;
it reads its models when it starts.`

// modelsCommand lists the embedding models of the configuration, and fetches known ones.
func modelsCommand(ctx context.Context, args, environ []string, out io.Writer) error {
	if len(args) == 0 {
		return usageError{fmt.Errorf("list or pull?\n%s", modelsUsage)}
	}
	verb, args := args[0], args[1:]
	var name string
	if verb == "pull" && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("models", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	dir := flags.String("data-dir", "", "")
	from := flags.String("from", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp), verb == "help", verb == "-h", verb == "--help":
		fmt.Fprintln(out, modelsUsage)
		return nil
	case err != nil:
		return usageError{fmt.Errorf("%w\n%s", err, modelsUsage)}
	case flags.NArg() > 0:
		return usageError{fmt.Errorf("unexpected argument %q\n%s", flags.Arg(0), modelsUsage)}
	}
	c, err := config.Parse(nil, environ, io.Discard)
	if err != nil {
		return usageError{err}
	}
	c.DataDir = cmp.Or(*dir, c.DataDir)
	switch verb {
	case "list":
		return listModels(c, out)
	case "pull":
		return pullModel(ctx, c, name, cmp.Or(*from, variable(environ, "HF_ENDPOINT")), out)
	default:
		return usageError{fmt.Errorf("unknown: models %s\n%s", verb, modelsUsage)}
	}
}

// variable returns the value of a variable of the environment, empty if it is not set.
func variable(environ []string, name string) (value string) {
	for _, kv := range environ {
		if rest, ok := strings.CutPrefix(kv, name+"="); ok {
			value = rest
		}
	}
	return value
}

// listModels shows what datastores can be given here, the default first, and what could be fetched.
func listModels(c config.Config, out io.Writer) error {
	e, err := openEmbedders(c, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tDIMENSIONS\t")
	for n, id := range e.ids() {
		dimensions, note := "as the server says", ""
		if d := e.byID[id].Model().Dimensions; d > 0 {
			dimensions = fmt.Sprint(d)
		}
		if n == 0 {
			note = "of new datastores"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", id, dimensions, note)
	}
	for _, m := range pull.Known() {
		here := func(id string) bool { return strings.HasPrefix(id, "local:"+m.Name+"@") }
		if !slices.ContainsFunc(e.ids(), here) {
			fmt.Fprintf(w, "%s\t\tnot here: api models pull %s (%s; %s; %d MB)\n", m.Name, m.Name, m.About, m.Licence, m.Size()/1e6)
		}
	}
	return w.Flush()
}

// pullModel fetches a model, and opens it to see that it works.
func pullModel(ctx context.Context, c config.Config, name, from string, out io.Writer) error {
	m, ok := pull.Find(name)
	if !ok {
		var names []string
		for _, m := range pull.Known() {
			names = append(names, m.Name)
		}
		return usageError{fmt.Errorf("%q is not a model that can be fetched, those are %s; any other sentence-transformers model of the BERT or XLM-RoBERTa "+
			"family is used once its directory lies in %s\n%s", name, strings.Join(names, ", "), filepath.Join(c.DataDir, modelsDir), modelsUsage)}
	}
	tenths := int64(0)
	directory, err := pull.Pull(ctx, pull.Config{Base: from, Into: filepath.Join(c.DataDir, modelsDir), Progress: func(done, total int64) {
		if now := 10 * done / total; now > tenths {
			tenths = now
			fmt.Fprintf(out, "%3d%% of %d MB\n", 10*tenths, total/1e6)
		}
	}}, m)
	if err != nil {
		return fmt.Errorf("%w\nwithout a network, put a copy of the model's directory at %s", err, filepath.Join(c.DataDir, modelsDir, m.Name))
	}
	e, err := transformer.Open(transformer.Config{Directory: directory})
	if err != nil {
		return fmt.Errorf("opening what was fetched: %w", err)
	}
	fmt.Fprintf(out, "%s lies in %s.\nStart the service anew: new datastores get it; others move to it by PATCH /datastores/{id} with {\"embeddingModel\": %q}.\n",
		m.Name, directory, e.Model().ID)
	return nil
}
