package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/sandbox"
)

// MisbehavePrefix starts a document that asks a child to do something that no parser should do. The action's name
// follows, then a space and its argument.
const MisbehavePrefix = "!misbehave "

// misbehave does what a document with MisbehavePrefix asks for and returns the outcome as text. It parses all other
// documents.
func misbehave(ctx context.Context, src format.Source, lim format.Limits, emit func(domain.Block) error) (*domain.Document, error) {
	head := make([]byte, 4096)
	n, err := src.Data.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	order, asked := strings.CutPrefix(string(head[:n]), MisbehavePrefix)
	if !asked {
		return Stream(ctx, src, lim, emit)
	}
	what, with, _ := strings.Cut(order, " ")
	answer := "done"
	switch what {
	case "wait":
		select {}
	case "spin":
		for { //nolint:staticcheck // it is to spin, until the limit of processor time ends it
		}
	case "allocate":
		var held [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			held = append(held, b)
			runtime.KeepAlive(held)
		}
	case "grow": // and give it back; a busy system starts more threads, whose stacks count too
		b := make([]byte, 200<<20)
		b[len(b)-1] = 1
	case "recurse":
		answer = fmt.Sprint(recurse(0))
	case "panic":
		src.Data = &panicking{}
		return Stream(ctx, src, lim, emit)
	case "exit":
		os.Exit(3)
	case "overflow":
		for {
			if err := emit(domain.Block{Kind: domain.BlockParagraph, Text: strings.Repeat("x", 1000)}); err != nil {
				return nil, err
			}
		}
	case "watch":
		go sandbox.WatchMemory(64 << 20)
		return misbehave(ctx, format.Source{Data: strings.NewReader(MisbehavePrefix + "allocate")}, lim, emit)
	default:
		answer = try(what, with)
	}
	if err := emit(domain.Block{Kind: domain.BlockParagraph, Text: answer}); err != nil {
		return nil, err
	}
	return &domain.Document{MIMEType: format.TypeText}, nil
}

// try does something that requires a right. It returns "done" or the error.
func try(what, with string) string {
	var err error
	switch what {
	case "read":
		_, err = os.ReadFile(with)
	case "write":
		err = os.WriteFile(with, []byte("a trace"), 0o600)
	case "keep": // a file in its own folder
		err = os.WriteFile(filepath.Join(os.TempDir(), "own"), []byte("passing"), 0o600)
	case "dial":
		var c net.Conn
		if c, err = net.Dial("tcp", with); err == nil {
			c.Close()
		}
	case "listen":
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			l.Close()
		}
	case "run":
		err = exec.Command("/proc/self/exe").Run()
	case "signal":
		var p *os.Process
		if p, err = os.FindProcess(os.Getppid()); err == nil {
			err = p.Signal(os.Interrupt)
		}
	case "environ":
		return strings.Join(os.Environ(), "\n")
	case "descriptors":
		return descriptors()
	}
	if err != nil {
		return "refused: " + err.Error()
	}
	return "done"
}

func recurse(n int) int {
	var pad [512]byte
	pad[n%len(pad)] = byte(n)
	return recurse(n+1) + int(pad[0]) //nolint:staticcheck // without an end, until the stack's bound
}

// panicking is a source that panics on the second read.
type panicking struct{ reads int }

// ReadAt implements io.ReaderAt.
func (p *panicking) ReadAt(b []byte, _ int64) (int, error) {
	if p.reads++; p.reads > 1 {
		panic("a parser that has lost its way")
	}
	return copy(b, "some text"), io.EOF
}

// openedFiles refers to the files that the descriptors function creates, because garbage collection would close files
// that nothing refers to.
var openedFiles []*os.File

// descriptors lists the process's open file descriptors below maxOpenedFiles.
func descriptors() string {
	var open []string
	for fd := range uintptr(maxOpenedFiles) {
		f := os.NewFile(fd, "looked at")
		openedFiles = append(openedFiles, f)
		if info, err := f.Stat(); err == nil {
			open = append(open, fmt.Sprintf("%d %s", fd, info.Mode().Type()))
		}
	}
	return strings.Join(open, "\n")
}

const maxOpenedFiles = 64
