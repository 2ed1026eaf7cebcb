// Command demo shows what Sluice is for. It starts the service with an empty data directory and ingests the documents
// and the web site in testdata, plus a scan if Tesseract is installed. It shows the progress, asks questions, and
// prints fragments and a cited answer. It uses the client package and exits with 0 only if everything succeeded. In a
// terminal, it keeps the service running and prints a link to the last answer.
//
//	go run ./tools/demo [-api bin/sluice] [-documents testdata/documents] [-stay=false]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/testdata/site"
	"github.com/sluice/sluice/tools/internal/bench"
)

func main() {
	api := flag.String("api", "bin/sluice", "path to the service's binary")
	documents := flag.String("documents", "testdata/documents", "folder of documents to ingest")
	stay := flag.Bool("stay", atTerminal(), "keep the service running until Ctrl+C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *api, *documents, *stay, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// atTerminal reports whether the output is a terminal.
func atTerminal() bool {
	out, err := os.Stdout.Stat()
	if err != nil || out.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	nowhere, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(out, nowhere)
}

func run(ctx context.Context, api, documents string, stay bool, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	began := time.Now()
	service, err := bench.Start(ctx, api, filepath.Join(dir, "data"), append(os.Environ(), "SLUICE_ALLOW_PRIVATE_ADDRESSES=true")...) // the demo's web site is on loopback
	defer func() { err = errors.Join(err, service.Close()) }()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Service ready at %s after %d ms, with an empty data directory.\n", service.Address, time.Since(began).Milliseconds())

	pages, err := bench.Serve(ctx, site.Handler())
	if err != nil {
		return err
	}
	defer pages.Close()
	fmt.Fprintf(out, "A small web site is served at %s.\n", pages.Address)

	c, err := client.New(service.Address, service.Key)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := show(ctx, c, documents, pages.Address, out)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nThe demo finished successfully.")
	if stay {
		fmt.Fprintf(out, "\nThe service keeps running until you press Ctrl+C. To see the last answer in the console, open:\n  %s/%s?key=%s\n", service.Address, answer, service.Key)
		<-ctx.Done()
	}
	return nil
}

// show ingests everything and asks the questions. It returns the URL of the console page with the last answer.
func show(ctx context.Context, c *client.Client, documents, pages string, out io.Writer) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	l, err := newLibrary(ctx, c, "Handbooks", out)
	if err != nil {
		return "", err
	}
	if err := l.uploadAll(ctx, documents); err != nil {
		return "", err
	}
	scan, err := l.uploadScan(ctx)
	if err != nil {
		return "", err
	}
	if err := l.addSite(ctx, pages+"/"); err != nil {
		return "", err
	}
	if err := l.follow(ctx); err != nil {
		return "", err
	}
	if scan {
		if err := l.findScan(ctx); err != nil {
			return "", err
		}
	}
	return l.ask(ctx)
}
