// Package sandbox runs document readers in child processes with minimal rights and bounded memory. It contains the
// protocol between parent and child, the restrictions of the child, and the diagnosis of its death. Only extract
// imports it.
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
)

// ChildMarker is the environment variable that makes a process a child. Its value is the memory limit in bytes.
const ChildMarker = "SLUICE_EXTRACT_CHILD"

// childCache is the environment variable with the child's folder for compiled code.
const childCache = "SLUICE_EXTRACT_CACHE"

// maxStack is the maximum stack size of a recursive parser, in bytes. Go's own limit of 1 GB is most of a child's
// memory.
const maxStack = 128 << 20

// exitCPU is the exit code of a child that exceeded its CPU time.
const exitCPU = 87

// ParseFunc reads a document in the child. Tests replace it.
type ParseFunc func(context.Context, format.Source, format.Limits, func(domain.Block) error) (*domain.Document, error)

// RunIfAsked runs the process as a child that reads documents with the function, and does not return, if a parent
// started it as a child. Otherwise it does nothing.
func RunIfAsked(read ParseFunc) {
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
	os.Stdout = os.Stderr // output printed by a library must not get between frames
	// A terminal's Ctrl-C and a service manager's stop signal also reach the children. The parent stops them itself
	// after finishing its documents; a child that died earlier would look as if the document had killed it.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := limitMemory(memory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	defer runtime.KeepAlive(newBallast())
	debug.SetMemoryLimit(memory / 2)
	debug.SetMaxStack(maxStack)
	folders := []string{os.TempDir()}
	if cache := os.Getenv(childCache); cache != "" {
		if err := os.MkdirAll(cache, 0o700); err == nil { // without the folder, code is only compiled again
			folders = append(folders, cache)
		}
	}
	c := &childServer{out: out, parse: read, memory: memory, missing: confine(folders)}
	if err := c.serve(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childServer is the child's side of a worker.
type childServer struct {
	out     io.Writer
	parse   ParseFunc
	memory  int64    // memory limit, in bytes
	missing []string // rights that it could not give up
}

// serve answers requests until its input ends. It watches the input even while a document is read, so that a child
// whose parent has died exits at once.
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

// hasGrown reports whether the process has so much memory mapped that the next document would have too little. Go never
// releases address space.
func (c *childServer) hasGrown() bool {
	const share = 4
	return c.memory > 0 && addressSpace() > c.memory/share
}

// answer reads one document and writes the result. It returns an error only if writing to the parent fails.
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
	src := format.Source{Data: f, Size: info.Size(), Name: req.Name, Declared: req.Declared, URL: req.URL, PlainRows: req.PlainRows}
	doc, err := c.parse(context.Background(), src, req.Limits, batch.add)
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
	}
	if err := batch.flush(); err != nil {
		return err
	}
	return writeFrame(c.out, frameDocument, doc)
}
