// Package app ties the parts of Sluice together into its processes: api, ingestor and crawler. A process is a value
// with Start and Stop, so that a test can run the very program in a temporary directory.
package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Shape is a kind of process.
type Shape string

// The shapes.
const (
	API      Shape = "api"
	Ingestor Shape = "ingestor"
	Crawler  Shape = "crawler"
)

// Main runs a process until it is told to stop and returns its exit code: 0 after a clean stop, 1 when it could not run,
// 2 when it was called wrongly.
func Main(shape Shape, args, environ []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, shape, args, environ, stdout, stderr)
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "%s: %v\n", shape, err)
		return 2
	default:
		fmt.Fprintf(stderr, "%s: %v\n", shape, err)
		return 1
	}
}

// usageError is a fault of how the program was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func run(ctx context.Context, shape Shape, args, environ []string, stdout, stderr io.Writer) error {
	command := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	switch {
	case command == "help":
		args = []string{"--help"}
	case command == "version":
		fmt.Fprintln(stdout, shape, Version())
		return nil
	case command == "keys" && shape == API:
		return keysCommand(ctx, args, environ, stdout)
	case command == "replay" && shape == API:
		return replayCommand(ctx, args, environ, stdout)
	case command == "models" && shape == API:
		return modelsCommand(ctx, args, environ, stdout)
	case command == "repair" && shape == API:
		return repairCommand(ctx, args, environ, stdout)
	case command == "eval" && shape == API:
		return evalCommand(ctx, args, environ, stdout, stderr)
	case command == "bench" && shape == API:
		return benchCommand(ctx, args, environ, stdout, stderr)
	case command == "mcp" && shape == API:
		return mcpCommand(ctx, args, environ, stdout, stderr)
	case command == "extract" && shape == Ingestor:
		return extractCommand(ctx, args, environ, stdout, stderr)
	case command == "plan" && shape == Crawler:
		return planCommand(ctx, args, environ, stdout, stderr)
	case command == "healthcheck":
		return healthcheck(ctx, shape, args, environ)
	case command != "serve":
		return usageError{fmt.Errorf("there is no command %q; see --help", command)}
	}
	c, err := config.Parse(args, environ, usage(stdout, shape))
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	if err != nil {
		return usageError{err}
	}
	return Serve(ctx, shape, c, stdout, stderr)
}

// usage writes what the command is before the settings, when the settings are asked for.
func usage(out io.Writer, shape Shape) io.Writer {
	return &headed{out: out, head: map[Shape]string{
		API: "usage: api [serve] [settings]    serve until told to stop\n" +
			"       api keys create|list|revoke    API keys\n" +
			"       api replay --datastore ID|--all|…    process again what is kept; see api replay --help\n" +
			"       api repair    compare index, originals, job log and catalog, and mend what differs\n" +
			"       api models list|pull NAME    embedding models that are run in process\n" +
			"       api eval --datastore ID --queries FILE    measure retrieval on your own content; see api eval --help\n" +
			"       api bench queries|uploads|streams    load a running service and time its answers; see api bench --help\n" +
			"       api mcp    the Model Context Protocol on standard input and output, for a running service; see api mcp --help\n" +
			"       api healthcheck    exit 0 if the process at SLUICE_ADDR is ready\n" +
			"       api version\n\nSettings, as flags or in the environment:\n",
		Ingestor: "usage: ingestor [serve] [settings]    serve until told to stop\n" +
			"       ingestor extract FILE…    print a file as ingestion reads it; see ingestor extract --help\n" +
			"       ingestor healthcheck    exit 0 if the process at SLUICE_ADDR is ready\n" +
			"       ingestor version\n\nSettings of all processes, as flags or in the environment:\n",
		Crawler: "usage: crawler [serve] [settings]    serve until told to stop\n" +
			"       crawler plan URL    show what a crawl of a site would fetch and why; see crawler plan --help\n" +
			"       crawler healthcheck    exit 0 if the process at SLUICE_ADDR is ready\n" +
			"       crawler version\n\nSettings of all processes, as flags or in the environment:\n",
	}[shape]}
}

// headed writes a head before the first write.
type headed struct {
	out  io.Writer
	head string
}

func (h *headed) Write(p []byte) (int, error) {
	if _, err := io.WriteString(h.out, h.head); err != nil {
		return 0, err
	}
	h.head = ""
	return h.out.Write(p)
}

// Serve runs a process of the shape until ctx ends.
func Serve(ctx context.Context, shape Shape, c config.Config, stdout, stderr io.Writer) (err error) {
	log := newLogger(stderr, c.LogLevel)
	var process interface {
		Start(context.Context) error
		Stop() error
		Failed() <-chan error
	}
	traces, stopTracing, err := telemetry.Open(ctx, string(shape), Version(), os.Getenv, log)
	if err != nil {
		return err
	}
	defer stopTracing()
	switch shape {
	case API:
		service := NewService(c, log, stdout)
		service.traces = traces
		process = service
	default:
		worker := NewWorker(shape, c, log)
		worker.traces = traces
		process = worker
	}
	if err := process.Start(ctx); err != nil {
		return errors.Join(err, process.Stop())
	}
	select {
	case <-ctx.Done():
		log.Info("stopping")
		return process.Stop()
	case err := <-process.Failed():
		return errors.Join(err, process.Stop())
	}
}

// version is set when a release is built: an image's build has no repository to ask.
var version string

// Version says what was built.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if version != "" {
		return version + " " + info.GoVersion
	}
	built := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			built += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return built + " " + info.GoVersion
}

func newLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // config has checked it
	return slog.New(telemetry.Discreet(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})))
}
