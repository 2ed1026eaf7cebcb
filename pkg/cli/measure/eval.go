package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/compare"
	"github.com/sluice/sluice/pkg/eval/misses"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/pkg/eval/trial"
)

type evalSettings struct {
	datastore, queries, qrels, modes, out string
	k, generate, concurrency, misses      int
	json                                  bool
	try                                   []string
	remote                                cli.ConnectionFlags
}

// evalCommand measures a running service's retrieval quality, or generates questions for measuring it.
func (p commands) evalCommand() *cobra.Command {
	var s evalSettings
	cmd := &cobra.Command{
		Use: "eval --datastore DATASTORE --queries FILE | --generate N", Short: "Measure retrieval quality using your own questions",
		GroupID: cli.GroupMeasure, Args: cli.NoArguments, DisableFlagsInUseLine: true,
		Long: "Run questions against a datastore and print the nDCG, recall and MRR of each search mode with 95% confidence\n" +
			"intervals, and the differences from hybrid. Nothing is changed. Each question is a line of JSON:\n\n" +
			"  {\"_id\": \"1\", \"text\": \"How long is the warranty?\", \"relevant\": [\"manual\"], \"answer\": \"two years\"}\n\n" +
			"Each question needs relevant (the datasources that should be found, by custom id, id, name or web address), answer\n" +
			"(text that a correct passage contains), or both. With --generate, the chat model writes the questions from samples\n" +
			"of the content; it is set by SLUICE_CHAT_MODEL and by OPENAI_BASE_URL or OPENAI_API_KEY.\n\n" +
			"Questions can include filters, as in the API. --misses explains at which step expected results were lost. --try tests\n" +
			"other settings on temporary copies of the content (up to 1,000 documents and 8 MiB), which are deleted afterwards.\n" +
			"Both suggest changes that would improve the results.",
		Example: "sluice eval --datastore Handbook --generate 200 --out q.jsonl\n" +
			"sluice eval --datastore Handbook --queries q.jsonl --modes hybrid,lexical\n" +
			"sluice eval --datastore Handbook --queries q.jsonl --misses 20",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.json = p.JSON
			return p.eval(cmd.Context(), s)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.datastore, "datastore", "", "`datastore` to measure, by id or name")
	flags.StringVar(&s.queries, "queries", "", "`file` with questions, or - for standard input")
	flags.StringVar(&s.qrels, "qrels", "", "`file` with relevance judgements: one per line, with question, document and grade separated by tabs")
	flags.StringVar(&s.modes, "modes", "", "search `modes` to compare, such as lexical,dense,hybrid,reranked (default: all that the service offers)")
	flags.IntVar(&s.k, "k", 10, "number of results to evaluate per question, 1 to 100")
	flags.IntVar(&s.generate, "generate", 0, "`number` of questions to generate from the content")
	flags.StringVar(&s.out, "out", "", "new `file` to write generated questions to (default: standard output)")
	flags.IntVar(&s.misses, "misses", 0, "explain up to this `number` of questions whose expected result was not found, at most 200")
	flags.StringArrayVar(&s.try, "try", nil, "`setting` to try on a temporary copy of the content: chunk=TOKENS or model=ID; repeatable")
	flags.IntVar(&s.concurrency, "concurrency", 4, "number of questions to ask at once")
	s.remote.Flags(cmd)
	return cmd
}

func (p commands) eval(ctx context.Context, s evalSettings) error {
	if err := s.check(); err != nil {
		return cli.WithExit(cli.Misused, err)
	}
	sluice, c, err := openService(s.remote, p.Environ)
	if err != nil {
		return err
	}
	defer sluice.Close()
	s.datastore, err = findDatastore(ctx, sluice, s.datastore)
	switch {
	case err != nil:
	case s.generate > 0:
		err = p.generateQuestions(ctx, sluice, c, s)
	default:
		err = compareModes(ctx, sluice, s, p.Out, p.Err)
	}
	if ctx.Err() != nil {
		return cli.WithExit(cli.Stopped, errors.New("stopped; nothing was changed"))
	}
	return cli.Fault(ctx, err)
}

// check rejects invalid flag combinations.
func (s evalSettings) check() error {
	switch {
	case s.datastore == "":
		return errors.New("specify --datastore with an id or name")
	case s.generate < 0 || s.generate > maxGenerated:
		return fmt.Errorf("--generate %d: must be between 1 and %d", s.generate, maxGenerated)
	case s.generate > 0 && (s.queries != "" || s.qrels != "" || s.json):
		return errors.New("--generate cannot be combined with --queries, --qrels or --json: generate questions first, then measure with them")
	case s.generate == 0 && s.queries == "":
		return errors.New("specify questions with --queries FILE, or generate some with --generate N")
	case s.generate == 0 && s.out != "":
		return errors.New("--out needs --generate")
	case s.k < 1 || s.k > compare.MaxK:
		return fmt.Errorf("--k %d: must be between 1 and %d", s.k, compare.MaxK)
	case s.misses < 0 || s.misses > maxMisses:
		return fmt.Errorf("--misses %d: must be between 0 and %d", s.misses, maxMisses)
	case s.misses > 0 && s.generate > 0:
		return errors.New("--misses cannot be combined with --generate: generate questions first, then measure with them")
	case s.concurrency < 1 || s.concurrency > 64:
		return fmt.Errorf("--concurrency %d: must be between 1 and 64", s.concurrency)
	}
	if len(s.try) > trial.MaxSettings || len(s.try) > 0 && s.generate > 0 {
		return fmt.Errorf("--try: use it with --queries, at most %d times", trial.MaxSettings)
	}
	if _, err := s.settings(); err != nil {
		return fmt.Errorf("--try: %w", err)
	}
	if s.modes != "" {
		if _, err := compare.ParseModes(s.modes); err != nil {
			return fmt.Errorf("--modes: %w", err)
		}
	}
	return nil
}

func (s evalSettings) settings() ([]trial.Setting, error) {
	var all []trial.Setting
	for _, text := range s.try {
		setting, err := trial.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, setting)
	}
	return all, nil
}

// openService connects to the service to measure.
func openService(where cli.ConnectionFlags, environ []string) (*service.Service, config.Config, error) {
	at, err := where.Locate(environ)
	if err != nil {
		return nil, at.Config, err
	}
	sluice, err := service.New(at.Address, at.Key)
	if err != nil {
		return nil, at.Config, cli.WithExit(cli.Misused, err)
	}
	return sluice, at.Config, nil
}

// compareModes runs the questions in each search mode and compares the results.
func compareModes(ctx context.Context, sluice *service.Service, s evalSettings, out, errs io.Writer) error {
	store, err := sluice.Datastore(ctx, s.datastore)
	if err != nil {
		return fmt.Errorf("reading datastore %q: %w", s.datastore, err)
	}
	cases, err := readCases(ctx, sluice, s, errs)
	if err != nil {
		return err
	}
	modes := compare.Modes()
	if s.modes != "" {
		if modes, err = compare.ParseModes(s.modes); err != nil {
			return cli.WithExit(cli.Misused, err)
		}
	}
	show := cli.NewProgress(errs)
	began := time.Now()
	report, err := compare.Run(ctx, sluice, cases, compare.Options{
		DatastoreID: s.datastore, Modes: modes, K: s.k, Concurrency: s.concurrency, SkipRejected: s.modes == "",
		Progress: func(asked, total int) { show.Update(int64(asked), 0, int64(total)) },
	})
	show.End("")
	if err != nil {
		return err
	}
	var lost *misses.Result
	if s.misses > 0 {
		found, err := misses.Find(ctx, sluice, cases, misses.Options{DatastoreID: s.datastore, K: s.k, Max: s.misses, Concurrency: s.concurrency})
		if err != nil {
			return fmt.Errorf("explaining misses: %w", err)
		}
		lost = &found
	}
	var tried *compare.Report
	if len(s.try) > 0 {
		settings, err := s.settings()
		if err != nil {
			return cli.WithExit(cli.Misused, err)
		}
		measured, err := trial.Run(ctx, sluice, store, cases, settings, compare.Options{K: s.k, Concurrency: s.concurrency})
		if err != nil {
			return err
		}
		tried = &measured
	}
	suggestions := misses.Suggest(report)
	if tried != nil {
		suggestions = append(suggestions, misses.Suggest(*tried)...)
	}
	if s.json {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		return enc.Encode(struct {
			Datastore string `json:"datastore"`
			Engine    string `json:"engine"`
			Model     string `json:"embedding_model"`
			compare.Report
			Misses      *misses.Result      `json:"misses,omitempty"`
			Tried       *compare.Report     `json:"tried,omitempty"`
			Suggestions []misses.Suggestion `json:"suggestions,omitempty"`
		}{store.ID, store.Type, store.EmbeddingModel, report, lost, tried, suggestions})
	}
	fmt.Fprintf(out, "Datastore %s (%s), engine %s, embedding model %s; %s in %s\n\n", cli.Printable(store.Name), store.ID, store.Type,
		store.EmbeddingModel, cli.Counted(report.Questions, "question"), time.Since(began).Round(100*time.Millisecond))
	if err := report.Write(out); err != nil {
		return err
	}
	if tried != nil {
		fmt.Fprint(out, "\nResults on temporary copies of the content; the hybrid row shows the current settings\n\n")
		if err := tried.Write(out); err != nil {
			return err
		}
	}
	if lost != nil {
		if err := lost.Write(out, s.k); err != nil {
			return err
		}
	}
	if lost == nil && tried == nil {
		return nil
	}
	return misses.WriteSuggestions(out, suggestions)
}

// Maximum number of misses to explain.
const maxMisses = 200

// Maximum number of datasource names kept in memory, for matching judgements to documents.
const maxNames = 2_000_000

// readCases reads the questions with their judgements and warns about inconsistencies on errs.
func readCases(ctx context.Context, sluice *service.Service, s evalSettings, errs io.Writer) ([]compare.Case, error) {
	var questions []eval.Question
	err := openInput(s.queries, func(r io.Reader) (err error) { questions, err = eval.ReadQuestions(r); return err })
	if err != nil {
		return nil, err
	}
	var judgements eval.Judgements
	if s.qrels != "" {
		err := openInput(s.qrels, func(r io.Reader) (err error) { judgements, err = eval.ReadJudgements(r); return err })
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
				return fmt.Errorf("the datastore has more than %d datasources: use answer instead of relevant in the questions", maxNames)
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
		fmt.Fprintf(errs, "Skipped %d of %s without relevant documents or an answer (the first is %q).\n", n, cli.Counted(len(questions), "question"),
			truth.Without[0])
	}
	if n := len(truth.Unknown); n > 0 {
		fmt.Fprintf(errs, "%s marked as relevant %s not in the datastore and %s as not found (the first is %q).\n", cli.Counted(n, "document"),
			cli.OneOrMany(n, "is", "are"), cli.OneOrMany(n, "counts", "count"), truth.Unknown[0])
	}
	return truth.Cases, nil
}

// openInput opens the file, or standard input for "-", and calls `read`. Its errors include the file name.
func openInput(path string, read func(io.Reader) error) error {
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
