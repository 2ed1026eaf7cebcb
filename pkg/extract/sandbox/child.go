// Package sandbox runs readers of documents in child processes with few rights and little memory: the protocol between
// parent and child, the child's restraints, and the cause of its death. Only extract imports it.
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

// ChildMarker in the environment makes a process a child; its value is the memory it may use, in bytes.
const ChildMarker = "SLUICE_EXTRACT_CHILD"

// childCache in a child's environment is the folder of compiled code.
const childCache = "SLUICE_EXTRACT_CACHE"

// maxStack bounds the stack of a parser that calls itself, in bytes: Go's own limit of 1 GB is most of what a child has.
const maxStack = 128 << 20

// exitCPU is the exit code of a child that used up its processor time.
const exitCPU = 87

// ParseFunc is parse, or what a test has a child do in its place.
type ParseFunc func(context.Context, format.Source, format.Limits, func(domain.Block) error) (*domain.Document, error)

// RunIfAsked turns the process into a child that reads documents with the function, and does not return, when a
// parent started it as one; otherwise it does nothing.
func RunIfAsked(read ParseFunc) {
	value, asked := os.LookupEnv(ChildMarker)
	if !asked {
		return
	}
	memory, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s=%q is not a number of bytes\n", ChildMarker, value)
		os.Exit(2)
	}
	out := os.Stdout
	os.Stdout = os.Stderr // nothing that a library prints may get between frames
	// A terminal's Ctrl-C and a service manager's stop reach children too. When they end is for the parent to say, which
	// finishes its documents first; else the document would be blamed for the child's end.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := limitMemory(memory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	defer runtime.KeepAlive(spareHeap())
	debug.SetMemoryLimit(memory / 2)
	debug.SetMaxStack(maxStack)
	folders := []string{os.TempDir()}
	if cache := os.Getenv(childCache); cache != "" {
		if err := os.MkdirAll(cache, 0o700); err == nil { // without it, code is compiled again and nothing else is lost
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
	memory  int64    // what it may use, in bytes
	missing []string // what it could not give up
}

// serve answers requests until its input ends. Input is watched while a document is read, so that a child whose
// parent is gone ends at once, whatever it is doing.
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
		tidy()
	}
	return nil
}

// grown reports whether reading has left the process with so much memory mapped that the next document would be
// short of it: Go keeps address space that it has used once.
func (c *childServer) grown() bool {
	const share = 4
	return c.memory > 0 && addressSpace() > c.memory/share
}

// answer reads one document and writes what came of it. It returns an error only when the parent cannot be told.
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
	if errors.Is(err, format.ErrPanic) || c.grown() {
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
