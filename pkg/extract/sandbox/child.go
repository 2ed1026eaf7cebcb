// Package sandbox runs document readers in child processes with restricted privileges and limited memory. It contains
// the protocol between parent and child, the child's restrictions, and the diagnosis of a child's death. Only package
// extract imports it.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// ChildMarker is the environment variable that makes a process a child. Its value is the child's memory limit in bytes.
const ChildMarker = "SLUICE_EXTRACT_CHILD"

// childCache is the environment variable for the folder with PDFium's compiled code.
const childCache = "SLUICE_EXTRACT_CACHE"

// maxStack is the maximum stack size in bytes, which recursive parsers may reach. Go's default of 1 GB would take up
// most of a child's memory.
const maxStack = 128 << 20

// exitCPU is the exit code of a child that exceeded its CPU time limit.
const exitCPU = 87

// ParseFunc reads a document in the child. Tests pass their own functions.
type ParseFunc func(context.Context, format.Source, format.Limits, func(domain.Block) error) (*domain.Document, error)

// DrawFunc renders a page of a document as a PNG image, in the child. Pages are counted from 1.
type DrawFunc func(ctx context.Context, src format.Source, lim format.Limits, page int) ([]byte, error)

// LocateFunc locates passages on a document's pages, in the child.
type LocateFunc func(context.Context, format.Source, format.Limits, []format.Passage) ([][][]domain.PageRectangle, error)

// ScanFunc renders a page for OCR in the child, rotated clockwise by the given number of quarter turns. Pages are
// counted from 1.
type ScanFunc func(ctx context.Context, src format.Source, lim format.Limits, page, turn int) (scan.Picture, error)

// Tasks are the functions a child uses to serve requests.
type Tasks struct {
	Parse  ParseFunc
	Draw   DrawFunc
	Locate LocateFunc
	Scan   ScanFunc
}

// RunIfAsked does nothing unless a parent started this process as a child. In a child, it never returns: it serves
// requests with `tasks`, or becomes the program passed to Run.
func RunIfAsked(tasks Tasks) {
	launchIfAsked()
	value, asked := os.LookupEnv(ChildMarker)
	if !asked {
		return
	}
	memory, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s=%q must be a number of bytes\n", ChildMarker, value)
		os.Exit(2)
	}
	out := os.Stdout
	os.Stdout = os.Stderr // a library's output must not get between the frames
	// Ctrl-C and a service manager's stop signal also reach the children. Ignore them: the parent first finishes its
	// documents and then stops the children itself. If a child exited on the signal, the parent would blame the
	// document being read.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	yieldProcessor(niceness)
	if err := limitMemory(memory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	defer runtime.KeepAlive(newBallast())
	debug.SetMemoryLimit(memory / 2)
	debug.SetMaxStack(maxStack)
	folders := []string{os.TempDir()}
	if cache := os.Getenv(childCache); cache != "" {
		if err := os.MkdirAll(cache, 0o700); err == nil { // without the folder, each child compiles the code itself
			folders = append(folders, cache)
		}
	}
	c := &childServer{out: out, tasks: tasks, memory: memory, missing: confine(folders)}
	if err := c.serve(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childServer answers the parent's requests in the child.
type childServer struct {
	out     io.Writer
	tasks   Tasks
	memory  int64    // memory limit, in bytes
	missing []string // rights the child could not give up
}

// serve answers requests until the input ends. It keeps watching the input while reading a document, so that the child
// exits as soon as its parent dies.
func (c *childServer) serve(in io.Reader) error {
	requests := make(chan Request)
	go func() {
		for {
			kind, payload, err := readFrame(in)
			if err != nil || kind != frameRequest {
				os.Exit(0)
			}
			var req Request
			if err := json.Unmarshal(payload, &req); err != nil {
				fmt.Fprintln(os.Stderr, "decoding a request:", err)
				os.Exit(1)
			}
			requests <- req
		}
	}()
	for req := range requests {
		if err := writeFrame(c.out, frameAccepted, c.missing); err != nil {
			return err
		}
		if err := limitCPU(req.CPUSeconds); err != nil {
			return err
		}
		if err := c.answer(req); err != nil {
			return err
		}
		releaseMemory()
	}
	return nil
}

// hasGrown reports whether the process has mapped so much memory that the next document wouldn't have enough. Go never
// releases address space.
func (c *childServer) hasGrown() bool {
	const share = 4
	return c.memory > 0 && addressSpace() > c.memory/share
}

// answer serves one request and writes the result. It returns an error only if writing to the parent fails.
func (c *childServer) answer(req Request) error {
	f, err := takeFile(req.Path)
	if err != nil {
		return writeFrame(c.out, frameFault, err.Error())
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return writeFrame(c.out, frameFault, err.Error())
	}
	batch := &blockBatch{w: c.out}
	src := format.Source{Data: f, Size: info.Size(), Name: req.Name, Declared: req.Declared, URL: req.URL, PlainRows: req.PlainRows, Scans: req.Scans}
	if req.Recognised {
		if src.Scans.Pages, err = recognisedPages(); err != nil {
			return writeFrame(c.out, frameFault, err.Error())
		}
	}
	var doc *domain.Document
	var picture []byte
	var rectangles [][][]domain.PageRectangle
	switch {
	case req.Page > 0 && req.Scan:
		picture, err = c.scan(src, req)
	case req.Page > 0:
		picture, err = c.tasks.Draw(context.Background(), src, req.Limits, req.Page)
	case len(req.Passages) > 0:
		rectangles, err = c.tasks.Locate(context.Background(), src, req.Limits, req.Passages)
	default:
		doc, err = c.tasks.Parse(context.Background(), src, req.Limits, batch.add)
	}
	if errors.Is(err, format.ErrPanic) || c.hasGrown() {
		if err := writeFrame(c.out, frameSpent, true); err != nil {
			return err
		}
	}
	var refused *format.Error
	switch {
	case errors.As(err, &refused):
		return writeFrame(c.out, frameRefusal, newRefusal(refused))
	case err != nil:
		return writeFrame(c.out, frameFault, err.Error())
	case req.Page > 0:
		return writeFrame(c.out, framePicture, picture)
	case len(req.Passages) > 0:
		return writeFrame(c.out, frameRectangles, rectangles)
	}
	if err := batch.flush(); err != nil {
		return err
	}
	return writeFrame(c.out, frameDocument, doc)
}
