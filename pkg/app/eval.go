package app

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/compare"
	"github.com/sluice/sluice/pkg/eval/service"
)

const evalUsage = `usage: api eval --datastore ID --queries FILE [--qrels FILE] [--modes MODES] [--k N] [--json]
       api eval --datastore ID --generate N [--out FILE]
  --datastore ID    the datastore that is measured, in a running service
  --queries FILE    questions, a JSON object a line: {"_id": "1", "text": "How long is the warranty?", "relevant": ["manual"],
                    "answer": "two years"}. relevant names the datasources that are right, by custom_id, id, name or web
                    address; answer is a text that a right fragment holds. One of them is enough
  --qrels FILE      which documents are right, by question, where the lines do not say it: question, document and grade,
                    parted by tabs
  --modes MODES     lexical,dense,hybrid,reranked (default all, as far as the service has them)
  --k N             how many places of an answer count, 1 to 100 (10)
  --json            the figures as one JSON object
  --generate N      make N questions from the datastore's content, with the chat model of SLUICE_CHAT_MODEL and OPENAI_BASE_URL
                    or OPENAI_API_KEY; the model sees some of the content
  --out FILE        where they go, a new file (standard output)
  --concurrency N   questions at once (4)
  --url URL         the service (SLUICE_URL, or where SLUICE_ADDR listens)
  --key KEY         its API key (SLUICE_API_KEY, or that of the first start in the data directory)
Prints nDCG, recall and MRR of each mode with intervals of 95%, and the differences from hybrid. It only reads.`

// evalSettings are the command's flags.
type evalSettings struct {
	datastore, queries, qrels, modes, out, url, key, dataDir string
	k, generate, concurrency                                 int
	json                                                     bool
}

// evalCommand measures the retrieval of a running service, or makes questions for that.
func evalCommand(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	s, err := evalFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(out, evalUsage)
		return nil
	}
	if err != nil {
		return usageError{fmt.Errorf("%w\n%s", err, evalUsage)}
	}
	sluice, c, err := openService(s, environ)
	if err != nil {
		return err
	}
	defer sluice.Close()
	if s.generate > 0 {
		err = generateQuestions(ctx, sluice, c, s, out, errs)
	} else {
		err = compareModes(ctx, sluice, s, out, errs)
	}
	var refused *service.Refused
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped before the end; nothing was changed")
	case errors.As(err, &refused) && refused.Status == http.StatusForbidden:
		return fmt.Errorf("%w; --key or SLUICE_API_KEY gives the key", err)
	}
	return err
}

func evalFlags(args []string) (evalSettings, error) {
	var s evalSettings
	flags := flag.NewFlagSet("eval", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&s.datastore, "datastore", "", "")
	flags.StringVar(&s.queries, "queries", "", "")
	flags.StringVar(&s.qrels, "qrels", "", "")
	flags.StringVar(&s.modes, "modes", "", "")
	flags.IntVar(&s.k, "k", 10, "")
	flags.BoolVar(&s.json, "json", false, "")
	flags.IntVar(&s.generate, "generate", 0, "")
	flags.StringVar(&s.out, "out", "", "")
	flags.IntVar(&s.concurrency, "concurrency", 4, "")
	flags.StringVar(&s.url, "url", "", "")
	flags.StringVar(&s.key, "key", "", "")
	flags.StringVar(&s.dataDir, "data-dir", "", "")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.datastore == "":
		return s, errors.New("which datastore?")
	case s.generate < 0 || s.generate > maxGenerated:
		return s, fmt.Errorf("--generate %d: must be 1 to %d", s.generate, maxGenerated)
	case s.generate > 0 && (s.queries != "" || s.qrels != "" || s.json):
		return s, errors.New("--generate makes the questions: --queries, --qrels and --json belong to the next call, which asks them")
	case s.generate == 0 && s.queries == "":
		return s, errors.New("which questions? --queries names their file, and --generate makes some")
	case s.generate == 0 && s.out != "":
		return s, errors.New("--out is for the questions of --generate")
	case s.k < 1 || s.k > compare.MaxK:
		return s, fmt.Errorf("--k %d: must be 1 to %d", s.k, compare.MaxK)
	case s.concurrency < 1 || s.concurrency > 64:
		return s, fmt.Errorf("--concurrency %d: must be 1 to 64", s.concurrency)
	}
	if s.modes != "" {
		if _, err := compare.ParseModes(s.modes); err != nil {
			return s, fmt.Errorf("--modes: %w", err)
		}
	}
	return s, nil
}

// openService finds the service that is measured.
func openService(s evalSettings, environ []string) (*service.Service, config.Config, error) {
	at, err := locate(s.url, s.key, s.dataDir, environ)
	if err != nil {
		return nil, at.config, err
	}
	sluice, err := service.New(at.address, at.key)
	if err != nil {
		return nil, at.config, usageError{err}
	}
	return sluice, at.config, nil
}

// compareModes asks the questions and prints how good the modes are.
func compareModes(ctx context.Context, sluice *service.Service, s evalSettings, out, errs io.Writer) error {
	store, err := sluice.Datastore(ctx, s.datastore)
	if err != nil {
		return fmt.Errorf("looking at datastore %q: %w", s.datastore, err)
	}
	cases, err := readCases(ctx, sluice, s, errs)
	if err != nil {
		return err
	}
	modes := compare.Modes()
	if s.modes != "" {
		if modes, err = compare.ParseModes(s.modes); err != nil {
			return usageError{err}
		}
	}
	show := newProgress(errs)
	began := time.Now()
	report, err := compare.Run(ctx, sluice, cases, compare.Options{
		DatastoreID: s.datastore, Modes: modes, K: s.k, Concurrency: s.concurrency, Lenient: s.modes == "",
		Progress: func(asked, total int) { show.update(int64(asked), 0, int64(total)) },
	})
	show.end("")
	if err != nil {
		return err
	}
	if s.json {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		return enc.Encode(struct {
			Datastore string `json:"datastore"`
			Engine    string `json:"engine"`
			Model     string `json:"embedding_model"`
			compare.Report
		}{store.ID, store.Type, store.EmbeddingModel, report})
	}
	fmt.Fprintf(out, "Datastore %s (%s), engine %s, embedding model %s; %s in %s\n\n", strings.Map(printable, store.Name), store.ID, store.Type,
		store.EmbeddingModel, counted(report.Questions, "question"), time.Since(began).Round(100*time.Millisecond))
	return report.Write(out)
}

// maxNames is how many datasources' names are held to match the judgements with.
const maxNames = 2_000_000

// readCases reads the questions with what is right, and says on errs what does not fit together.
func readCases(ctx context.Context, sluice *service.Service, s evalSettings, errs io.Writer) ([]compare.Case, error) {
	var questions []eval.Question
	err := reading(s.queries, func(r io.Reader) (err error) { questions, err = eval.ReadQuestions(r); return err })
	if err != nil {
		return nil, err
	}
	var judgements eval.Judgements
	if s.qrels != "" {
		err := reading(s.qrels, func(r io.Reader) (err error) { judgements, err = eval.ReadJudgements(r); return err })
		if err != nil {
			return nil, err
		}
	}
	var names *compare.Names
	if compare.NamesDocuments(questions, judgements) {
		names = &compare.Names{}
		n := 0
		err := sluice.Datasources(ctx, s.datastore, "", func(d service.Datasource) error {
			if n++; n > maxNames {
				return fmt.Errorf("the datastore has more than %d datasources; give answer in place of relevant", maxNames)
			}
			names.Add(d)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("listing the datastore's datasources: %w", err)
		}
	}
	truth, err := compare.NewTruth(questions, judgements, names)
	if err != nil {
		return nil, err
	}
	if n := len(truth.Without); n > 0 {
		fmt.Fprintf(errs, "%d of %s %s left out, since nothing says what is right for %s (the first is %q).\n", n, counted(len(questions), "question"),
			oneOrMany(n, "is", "are"), oneOrMany(n, "it", "them"), truth.Without[0])
	}
	if n := len(truth.Unknown); n > 0 {
		fmt.Fprintf(errs, "%s that should be found %s not in the datastore, and %s as not found (the first is %q).\n", counted(n, "document"),
			oneOrMany(n, "is", "are"), oneOrMany(n, "counts", "count"), truth.Unknown[0])
	}
	return truth.Cases, nil
}

// reading opens the file, "-" being standard input, and names it in what goes wrong.
func reading(path string, read func(io.Reader) error) error {
	if path == "-" {
		return read(os.Stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := read(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
