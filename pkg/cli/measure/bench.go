package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/pkg/loadtest"
)

// Kinds of load.
const (
	loadQueries = "queries"
	loadUploads = "uploads"
	loadStreams = "streams"
)

// Maximum time to wait for responses after sending the last request.
const benchGrace = 30 * time.Second

type benchSettings struct {
	what                                           string
	datastore, agent, queries, mode, files, engine string
	topK                                           int
	size                                           config.Bytes
	json, keep                                     bool
	load                                           loadtest.Load
	remote                                         cli.ConnectionFlags
}

// benchCommand puts load on a running service and prints the results.
func (p commands) benchCommand() *cobra.Command {
	s := benchSettings{size: 2000}
	cmd := &cobra.Command{
		Use: "bench queries|uploads|streams", Short: "Measure latency and throughput under load", GroupID: cli.GroupMeasure,
		ValidArgs: []string{loadQueries, loadUploads, loadStreams}, Args: cobra.ArbitraryArgs,
		Long: "Send requests to a running service and print its response times. With --rate, requests start on a schedule, and\n" +
			"latency is measured from the scheduled start. Without it, each client waits for its response before it sends the\n" +
			"next request. Requests and tokens count towards the API key's usage.",
		Example: "sluice bench queries --datastore Handbook --rate 200 --for 1m\nsluice bench uploads --size 5KB --clients 8\n" +
			"sluice bench streams --agent Support --queries q.jsonl --clients 50",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && slices.Contains(cmd.ValidArgs, args[0]) {
				s.what, args = args[0], args[1:]
			}
			s.json = p.JSON
			s.defaults(cmd.Flags().Changed)
			if err := s.check(args, cmd.Flags().Changed); err != nil {
				return cli.WithExit(cli.Misused, err)
			}
			return p.bench(cmd.Context(), s)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&s.load.Rate, "rate", 0, "number of requests to start per second")
	flags.IntVar(&s.load.Clients, "clients", 0, "concurrent requests (default 1, or 256 with --rate)")
	flags.DurationVar(&s.load.For, "for", 30*time.Second, "duration of the measurement")
	flags.DurationVar(&s.load.Warmup, "warmup", -1, "`duration` of the warm-up (default 3s, or 0s for uploads and with --requests)")
	flags.Lookup("warmup").DefValue = "0s" // otherwise the help would show -1
	flags.IntVar(&s.load.Requests, "requests", 0, "stop after this number of requests, including the warm-up")
	flags.StringVar(&s.datastore, "datastore", "", "`datastore` to query, by id or name")
	flags.StringVar(&s.agent, "agent", "", "`agent` to ask, by id or name")
	flags.StringVar(&s.queries, "queries", "", "`file` with a JSON object per line, whose \"text\" is the question (default: words from the content)")
	flags.StringVar(&s.mode, "mode", "", "search `mode`: lexical, dense or hybrid (default: set by the service)")
	flags.IntVar(&s.topK, "top-k", 0, "number of results per query (default: set by the service)")
	flags.StringVar(&s.files, "files", "", "`folder` whose files are uploaded repeatedly (default: generated texts)")
	flags.Var(&s.size, "size", "size of each generated text in bytes, 64 to 1000000 (1MB)")
	flags.StringVar(&s.engine, "engine", "", "`engine` of the datastore that is created for uploads (default: set by the service)")
	flags.BoolVar(&s.keep, "keep", false, "keep the datastore that was created for uploads")
	s.remote.Flags(cmd)
	return cmd
}

// defaults sets the flags that the user hasn't set, based on those that are set.
func (s *benchSettings) defaults(given func(string) bool) {
	s.load.Grace = benchGrace
	if !given("clients") {
		s.load.Clients = 1
		if s.load.Rate > 0 {
			s.load.Clients = 256
		}
	}
	if !given("warmup") {
		s.load.Warmup = 3 * time.Second
		if s.what == loadUploads || s.load.Requests > 0 { // a small number of requests may finish before the warm-up does
			s.load.Warmup = 0
		}
	}
}

func (p commands) bench(ctx context.Context, s benchSettings) error {
	at, err := s.remote.Locate(p.Environ)
	if err != nil {
		return err
	}
	retrying, err := service.New(at.Address, at.Key)
	if err != nil {
		return cli.WithExit(cli.Misused, err)
	}
	defer retrying.Close()
	loaded, err := retrying.WithoutRetries(s.load.Clients)
	if err != nil {
		return cli.WithExit(cli.Misused, err)
	}
	defer loaded.Close()

	var report loadtest.Report
	if s.what == loadUploads {
		report, err = benchUploads(ctx, s, retrying, loaded, p.Err)
	} else {
		report, err = benchQueries(ctx, s, retrying, loaded)
	}
	if err != nil && report.Sent == 0 {
		return cli.Fault(ctx, err)
	}
	// Report the measurements even if cleaning up fails.
	return errors.Join(s.writeReport(p.Out, report), cli.Fault(ctx, err))
}

func (s benchSettings) writeReport(out io.Writer, report loadtest.Report) error {
	var err error
	if s.json {
		err = json.NewEncoder(out).Encode(struct {
			What    string  `json:"what"`
			Rate    float64 `json:"rate,omitempty"`
			Clients int     `json:"clients"`
			loadtest.Report
		}{s.what, s.load.Rate, s.load.Clients, report})
	} else {
		err = report.Write(out)
	}
	if err == nil && report.Succeeded == 0 {
		err = errors.New("no request succeeded")
	}
	return err
}

// check rejects invalid flag combinations.
func (s benchSettings) check(rest []string, given func(string) bool) error {
	belongs := map[string][]string{
		loadQueries: {"datastore", "queries", "mode", "top-k"},
		loadUploads: {"files", "size", "engine", "keep"},
		loadStreams: {"agent", "queries"},
	}
	switch {
	case s.what == "":
		return errors.New("specify the load: queries, uploads or streams")
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case s.what == loadQueries && s.datastore == "":
		return errors.New("bench queries needs --datastore")
	case s.what == loadStreams && s.agent == "":
		return errors.New("bench streams needs --agent")
	case given("files") && given("size"):
		return errors.New("--size (generated texts) and --files (your files) cannot be combined")
	case s.size < 64 || s.size > 1_000_000:
		return fmt.Errorf("--size %d: must be between 64 and 1000000 bytes (1MB)", s.size)
	case s.topK < 0 || s.topK > 100:
		return fmt.Errorf("--top-k %d: must be between 1 and 100", s.topK)
	}
	for what, names := range belongs {
		for _, name := range names {
			if given(name) && what != s.what && !slices.Contains(belongs[s.what], name) {
				return fmt.Errorf("--%s does not apply to %s", name, s.what)
			}
		}
	}
	return s.load.Validate()
}

// benchQueries puts load on the service with queries or streams.
func benchQueries(ctx context.Context, s benchSettings, retrying, loaded *service.Service) (_ loadtest.Report, err error) {
	if s.what == loadStreams {
		s.agent, err = findAgent(ctx, retrying, s.agent)
	} else {
		s.datastore, err = findDatastore(ctx, retrying, s.datastore)
	}
	if err != nil {
		return loadtest.Report{}, err
	}
	from := []string{s.datastore}
	if s.what == loadStreams {
		agent, err := retrying.Agent(ctx, s.agent)
		if err != nil {
			return loadtest.Report{}, fmt.Errorf("reading agent %q: %w", s.agent, err)
		}
		from = agent.DatastoreIDs
	} else if _, err := retrying.Datastore(ctx, s.datastore); err != nil {
		return loadtest.Report{}, fmt.Errorf("reading datastore %q: %w", s.datastore, err)
	}
	questions, err := benchQuestions(ctx, retrying, s.queries, from)
	if err != nil {
		return loadtest.Report{}, err
	}
	request := loadtest.Queries(loaded, s.datastore, questions, service.Query{Mode: s.mode, TopK: s.topK})
	if s.what == loadStreams {
		var made conversations
		request = loadtest.Streams(loaded, s.agent, questions, made.add)
		defer func() { err = errors.Join(err, made.delete(ctx, retrying)) }()
	}
	// Try a single request first. If the service rejects every request, its error says why.
	if err := loadtest.Try(ctx, request); err != nil {
		return loadtest.Report{}, err
	}
	return loadtest.Run(ctx, s.load, request)
}

// conversations collects the conversations created by the load.
type conversations struct {
	mu  sync.Mutex
	ids []string
}

func (c *conversations) add(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = append(c.ids, id)
}

// delete deletes as many of the conversations as it can within the grace period.
func (c *conversations) delete(ctx context.Context, sluice *service.Service) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), benchGrace)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, id := range c.ids {
		if err := sluice.DeleteConversation(ctx, id); err != nil {
			return fmt.Errorf("deleting the benchmark's conversations (%d remain): %w", len(c.ids)-n, err)
		}
	}
	return nil
}

// benchUploads puts load on the service by uploading files to a new datastore.
func benchUploads(ctx context.Context, s benchSettings, retrying, loaded *service.Service, errs io.Writer) (report loadtest.Report, err error) {
	item := generateItems(int(s.size))
	if s.files != "" {
		if item, err = filesOf(s.files); err != nil {
			return report, err
		}
	}
	store, err := retrying.CreateDatastore(ctx, service.NewDatastore{Name: "bench " + time.Now().UTC().Format("2006-01-02 15:04:05"), Type: s.engine})
	if err != nil {
		return report, fmt.Errorf("creating a datastore for the uploads: %w", err)
	}
	defer func() {
		if s.keep {
			fmt.Fprintf(errs, "Uploads were kept in datastore %s.\n", store.ID)
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), benchGrace)
		defer cancel()
		if failed := retrying.DeleteDatastore(ctx, store.ID); failed != nil {
			err = errors.Join(err, fmt.Errorf("deleting datastore %s and its uploads: %w", store.ID, failed))
		}
	}()
	uploads, err := loadtest.NewUploads(ctx, loaded, store.ID, item)
	if err != nil {
		return report, err
	}
	defer uploads.Close()
	return loadtest.Run(ctx, s.load, uploads.Request)
}
