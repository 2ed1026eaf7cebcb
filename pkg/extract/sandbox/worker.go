package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Worker is a running child. It is not safe for concurrent use.
type Worker struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	Out       *bufio.Reader
	stderr    *headBuffer
	files     *handover
	Dir       string // folder for temporary files
	Read      int    // documents read so far
	Expired   bool   // the child must be replaced: a parser panicked in it, or its memory has grown
	HasExited bool
	stop      chan struct{} // closed to stop the child
	ended     chan struct{} // closed once the child has exited
	// Missing lists the rights that the child couldn't give up on this system. It is set once the child has accepted a
	// document.
	Missing []string
}

// headBuffer keeps the first bytes written to it, because a dying Go runtime prints the reason before the stacks. It
// doesn't need a lock: only one goroutine in os/exec writes to it, and that goroutine has finished by the time Wait
// returns.
type headBuffer struct{ data []byte }

func (b *headBuffer) Write(p []byte) (int, error) {
	const keep = 4 << 10
	if available := keep - len(b.data); available > 0 {
		b.data = append(b.data, p[:min(available, len(p))]...)
	}
	return len(p), nil
}

// Start starts a child that may use maxMemory bytes and creates a folder for it in `temp`. The child can open files
// only there and in `cache`, the folder for compiled code.
func Start(maxMemory int64, temp, cache string) (*Worker, error) {
	exe, err := executable()
	if err != nil {
		return nil, fmt.Errorf("locating the executable: %w", err)
	}
	dir, err := os.MkdirTemp(temp, "sluice-extract-")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary folder for the extraction process: %w", err)
	}
	docs, err := newHandover()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	//nolint:noctx // the child outlives the document that it was started for; stop ends it
	w := &Worker{cmd: exec.Command(exe), stderr: &headBuffer{}, files: docs, Dir: dir, stop: make(chan struct{}), ended: make(chan struct{})}
	// The child doesn't inherit the environment, because that contains secrets.
	w.cmd.Env = []string{
		ChildMarker + "=" + strconv.FormatInt(maxMemory, 10), childCache + "=" + cache, "TMPDIR=" + dir, "TEMP=" + dir, "TMP=" + dir,
		"GOTRACEBACK=single", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
	}
	w.cmd.Dir = dir
	w.cmd.Stderr = w.stderr
	w.cmd.ExtraFiles = docs.files()
	w.cmd.SysProcAttr = childAttributes()
	in, err := w.cmd.StdinPipe()
	if err == nil {
		w.in = in
		var out io.ReadCloser
		if out, err = w.cmd.StdoutPipe(); err == nil {
			w.Out = bufio.NewReaderSize(out, 64<<10)
			err = w.start()
		}
	}
	if err != nil {
		docs.close()
		return nil, errors.Join(fmt.Errorf("starting an extraction process: %w", err), os.RemoveAll(dir))
	}
	docs.started()
	return w, nil
}

// start starts the process on a thread that lives as long as the child, because the system kills the child when that
// thread exits.
func (w *Worker) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread exits with this function, after the child
		defer close(w.ended)
		err := w.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		<-w.stop
		// Ignore the errors. They only report that the child has already exited, or how it exited.
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	}()
	return <-started
}

// Process returns the running child.
func (w *Worker) Process() *os.Process { return w.cmd.Process }

// Stop terminates the child and removes its temporary files. It may be called more than once.
func (w *Worker) Stop() {
	if w.HasExited {
		return
	}
	w.HasExited = true
	_ = w.in.Close() // errors don't matter: the child has exited or is about to be killed
	close(w.stop)
	<-w.ended
	w.files.close()
	_ = os.RemoveAll(w.Dir)
}

// ErrNotStarted means that the child exited before it received the document. Another child may succeed.
var ErrNotStarted = errors.New("the extraction process ended before it received the document")

// Answer is a child's answer: the document, a page's PNG image, or rectangles for each span of each passage.
type Answer struct {
	Document   *domain.Document
	Picture    []byte
	Rectangles [][][]domain.PageRectangle
	// Scan is a page's picture for OCR, as an open, unlinked file. See Worker.Picture.
	Scan *os.File
}

// Ask passes a request to the child. After any error other than an *Error from the parser, the child is dead.
func (w *Worker) Ask(ctx context.Context, f *os.File, req Request, maxMemory int64, timeout time.Duration) (Answer, error) {
	w.Read++
	var late atomic.Bool
	clock := time.AfterFunc(timeout, func() {
		late.Store(true)
		_ = w.cmd.Process.Kill()
	})
	defer clock.Stop()
	detach := context.AfterFunc(ctx, func() { _ = w.cmd.Process.Kill() })
	defer detach()

	err := w.files.give(f)
	if err == nil {
		err = writeFrame(w.in, frameRequest, req)
	}
	var answer Answer
	if err != nil {
		err = errors.Join(ErrNotStarted, err)
	} else {
		answer, err = w.receive(req)
	}
	if err == nil || format.KindOf(err) != "" && !errors.Is(err, errOverflow) {
		return answer, err
	}
	// The child has exited or violated the protocol.
	w.Stop()
	switch {
	case ctx.Err() != nil:
		return Answer{}, fmt.Errorf("reading the document: %w", context.Cause(ctx))
	case late.Load():
		return Answer{}, format.Errorf(format.Resources, "reading the file took longer than %s; split the file", durationText(timeout))
	case errors.Is(err, errFault), errors.Is(err, ErrNotStarted):
		return Answer{}, err
	case format.KindOf(err) != "":
		return Answer{}, err
	}
	return Answer{}, w.exitError(maxMemory, req.CPUSeconds, err)
}

var (
	errOverflow = errors.New("the extraction process sent more than the limit")
	errFault    = errors.New("the extraction process failed")
)

// receive reads frames from the child until the answer is complete.
func (w *Worker) receive(req Request) (Answer, error) {
	lim := req.Limits
	var blocks []domain.Block
	var text, raw int64
	tooMuch := &format.Error{Kind: format.TooLarge, Message: "the document has too much text; split it", Err: errOverflow}
	accepted := false
	for {
		kind, payload, err := readFrame(w.Out)
		if err != nil && !accepted {
			return Answer{}, errors.Join(ErrNotStarted, err)
		}
		if err != nil {
			return Answer{}, err
		}
		if raw += int64(len(payload)); raw > 8*lim.MaxText+maxFrame {
			return Answer{}, tooMuch
		}
		switch kind {
		case frameAccepted:
			accepted = true
			if err := json.Unmarshal(payload, &w.Missing); err != nil {
				return Answer{}, fmt.Errorf("decoding the missing restrictions of the extraction process: %w", err)
			}
		case frameSpent:
			w.Expired = true
		case frameBlocks:
			var batch []domain.Block
			if err := json.Unmarshal(payload, &batch); err != nil {
				return Answer{}, fmt.Errorf("decoding blocks: %w", err)
			}
			for _, b := range batch {
				text += int64(len(b.Text))
			}
			if text > lim.MaxText || len(blocks)+len(batch) > lim.MaxBlocks {
				return Answer{}, tooMuch
			}
			blocks = append(blocks, batch...)
		case frameDocument:
			var doc domain.Document
			if err := json.Unmarshal(payload, &doc); err != nil {
				return Answer{}, fmt.Errorf("decoding a document: %w", err)
			}
			doc.Blocks = blocks
			return Answer{Document: &doc}, nil
		case framePicture:
			var picture []byte
			if err := json.Unmarshal(payload, &picture); err != nil {
				return Answer{}, fmt.Errorf("decoding a picture: %w", err)
			}
			return Answer{Picture: picture}, nil
		case frameRectangles:
			var rectangles [][][]domain.PageRectangle
			if err := json.Unmarshal(payload, &rectangles); err != nil {
				return Answer{}, fmt.Errorf("decoding rectangles: %w", err)
			}
			return Answer{Rectangles: rectangles}, checkRectangles(rectangles, req.Passages)
		case frameRefusal:
			var r refusal
			if err := json.Unmarshal(payload, &r); err != nil {
				return Answer{}, fmt.Errorf("decoding an error: %w", err)
			}
			return Answer{}, r.err()
		case frameFault:
			return Answer{}, fmt.Errorf("%w: %s", errFault, payload)
		default:
			return Answer{}, fmt.Errorf("unknown frame kind %q", kind)
		}
	}
}

// checkRectangles returns an error unless the rectangles match the passages and their spans one to one.
func checkRectangles(rectangles [][][]domain.PageRectangle, passages []format.Passage) error {
	if len(rectangles) != len(passages) {
		return fmt.Errorf("the extraction process sent rectangles of %d passages instead of %d", len(rectangles), len(passages))
	}
	for i, p := range passages {
		if len(rectangles[i]) != len(p.Spans) {
			return fmt.Errorf("the extraction process sent rectangles of %d spans instead of %d", len(rectangles[i]), len(p.Spans))
		}
	}
	return nil
}

// exitError returns an error that says why the child died, for users.
func (w *Worker) exitError(maxMemory int64, cpuSeconds uint64, cause error) error {
	words := string(w.stderr.data)
	detail := fmt.Errorf("%s: %w: %s", w.cmd.ProcessState, cause, words)
	for _, sign := range []string{"out of memory", "cannot allocate memory", "errno=12", "failed to create new OS thread",
		"cannot map pages", "failed to reserve"} {
		if strings.Contains(words, sign) {
			return &format.Error{Kind: format.Resources, Err: detail,
				Message: fmt.Sprintf("reading the file needs more than %s of memory; split the file", format.SizeText(maxMemory))}
		}
	}
	switch {
	case w.cmd.ProcessState.ExitCode() == exitCPU:
		return &format.Error{Kind: format.Resources, Err: detail,
			Message: fmt.Sprintf("reading the file took more than %s of CPU time, the limit for files of this size; simplify or split the file (the limit for large files is set by SLUICE_EXTRACT_TIMEOUT)", durationText(time.Duration(cpuSeconds)*time.Second))}
	case strings.Contains(words, "stack overflow"), strings.Contains(words, "stack exceeds"):
		return &format.Error{Kind: format.Damaged, Err: detail, Message: "the file is nested too deeply"}
	case w.cmd.ProcessState.ExitCode() == -1:
		return &format.Error{Kind: format.Resources, Err: detail, Message: "the operating system stopped reading the file, probably because memory ran out"}
	}
	return &format.Error{Kind: format.Damaged, Err: detail, Message: "the file is damaged: reading it failed unexpectedly"}
}

// durationText formats a duration for display: "2 minutes", "1.5 seconds".
func durationText(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		if d == time.Minute {
			return "a minute"
		}
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return fmt.Sprintf("%g seconds", d.Seconds())
}
