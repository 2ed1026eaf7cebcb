package extract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
)

// childMarker in the environment makes a process a child; its value is the memory it may use, in bytes.
const childMarker = "SLUICE_EXTRACT_CHILD"

// exitCPU is the exit code of a child that used up its processor time.
const exitCPU = 87

// RunChildIfAsked turns the process into a child that reads documents, and does not return, when an Extractor
// started it as one; otherwise it does nothing. Call it first thing in every main and TestMain.
func RunChildIfAsked() {
	value, asked := os.LookupEnv(childMarker)
	if !asked {
		return
	}
	memory, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s=%q is not a number of bytes\n", childMarker, value)
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
	debug.SetMemoryLimit(memory / 2)
	if err := serveChild(os.Stdin, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveChild answers requests until its input ends. Input is watched while a document is read, so that a child
// whose parent is gone ends at once, whatever it is doing.
func serveChild(in io.Reader, out io.Writer) error {
	requests := make(chan childRequest)
	go func() {
		for {
			kind, payload, err := readFrame(in)
			if err != nil || kind != frameRequest {
				os.Exit(0)
			}
			var req childRequest
			if err := json.Unmarshal(payload, &req); err != nil {
				fmt.Fprintln(os.Stderr, "decoding a request:", err)
				os.Exit(1)
			}
			requests <- req
		}
	}()
	for req := range requests {
		if err := writeFrame(out, frameAccepted, true); err != nil {
			return err
		}
		if err := limitCPU(req.CPUSeconds); err != nil {
			return err
		}
		if err := answer(req, out); err != nil {
			return err
		}
		debug.FreeOSMemory()
	}
	return nil
}

// answer reads one document and writes what came of it. It returns an error only when the parent cannot be told.
func answer(req childRequest, out io.Writer) error {
	f, err := os.Open(req.Path)
	if err != nil {
		return writeFrame(out, frameFault, err.Error())
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return writeFrame(out, frameFault, err.Error())
	}
	batch := &blockBatch{w: out}
	src := Source{Data: f, Size: info.Size(), Name: req.Name, Declared: req.Declared, URL: req.URL, PlainRows: req.PlainRows}
	doc, err := parse(context.Background(), src, req.Limits, batch.add)
	var refused *Error
	switch {
	case errors.As(err, &refused):
		return writeFrame(out, frameRefusal, newRefusal(refused))
	case err != nil:
		return writeFrame(out, frameFault, err.Error())
	}
	if err := batch.flush(); err != nil {
		return err
	}
	return writeFrame(out, frameDocument, doc)
}
