// Package app assembles Sluice's processes: api, ingestor and crawler. A process is a value with Start and Stop, so a
// test can run the complete program in a temporary directory.
package app

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/processors"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Shape is a type of process.
type Shape string

// Process types.
const (
	API      Shape = "api"
	Ingestor Shape = "ingestor"
	Crawler  Shape = "crawler"
)

// ShapeOf returns the process type for the program's file name: ingestor or crawler if the program has that name, and
// otherwise api.
func ShapeOf(file string) Shape {
	switch shape := Shape(strings.TrimSuffix(filepath.Base(file), ".exe")); shape {
	case Ingestor, Crawler:
		return shape
	}
	return API
}

// command returns the command that starts the process.
func (s Shape) command() string {
	if s == API {
		return "sluice"
	}
	return "sluice " + string(s)
}

// listensAnywhere describes a process that picks a free port if SLUICE_ADDR is not set, such as "a crawler process". It
// returns "" for the api process, which has a default address.
func (s Shape) listensAnywhere() string {
	if s == API {
		return ""
	}
	return articleFor(s)
}

// Main runs a process or a command until it finishes or receives a signal, and returns the exit code documented in
// docs/cli.md.
func Main(shape Shape, args, environ []string, stdout, stderr io.Writer) int {
	return mainWith(hooks{}, shape, args, environ, stdout, stderr)
}

func mainWith(h hooks, shape Shape, args, environ []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the process at once
	p := newCommandLine(h, shape, environ, stdout, stderr)
	err := p.run(ctx, args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		cli.Report(stderr, shape.command(), err, p.JSON)
		return int(cli.ExitOf(err))
	}
	return 0
}

func (p *commandLine) serve(ctx context.Context, c config.Config) (err error) {
	o := Options{Secrets: domain.NewSecrets(c.Secrets()...), Out: p.Out, hooks: p.hooks}
	o.Log = newLogger(p.Err, c.LogLevel, o.Secrets)
	var process interface {
		Start(context.Context) error
		Stop() error
		Failed() <-chan error
	}
	var stopTracing func()
	o.Traces, stopTracing, err = telemetry.Open(ctx, string(p.shape), Version(), os.Getenv, o.Log)
	if err != nil {
		return err
	}
	defer stopTracing()
	switch p.shape {
	case API:
		processors.Spare()
		process = NewService(c, o)
	default:
		process = NewWorker(p.shape, c, o)
	}
	if err := process.Start(ctx); err != nil {
		return errors.Join(err, process.Stop())
	}
	select {
	case <-ctx.Done():
		o.Log.Info("stopping")
		err := process.Stop()
		o.Log.Info("stopped")
		return err
	case err := <-process.Failed():
		return errors.Join(err, process.Stop())
	}
}

// version is set in release builds, since images are built without the Git repository.
var version string

// Version returns the program's version.
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

func newLogger(w io.Writer, level string, secrets domain.Secrets) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // config has validated the level
	return slog.New(telemetry.RedactingHandler(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}), secrets))
}
