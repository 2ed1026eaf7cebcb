package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// launchMarker is the environment variable that turns a process into another program. Its value is a launch as JSON.
const launchMarker = "SLUICE_LAUNCH"

// Program is a program that Run executes with restricted privileges and limited resources.
type Program struct {
	Path string   // absolute path to the executable, without links
	Args []string // without the program's name
	Env  []string // the whole environment
	// Files are the files and folders the program may read, besides the system's libraries.
	Files     []string
	Dir       string        // working directory
	Memory    int64         // maximum address space, in bytes
	CPU       time.Duration // maximum CPU time
	Timeout   time.Duration // maximum elapsed time
	MaxOutput int64         // maximum size of the standard output, in bytes
}

// launch holds the parts of Program that its process needs, encoded as JSON.
type launch struct {
	Path       string
	Args       []string
	Env        []string
	Files      []string
	Memory     int64
	CPUSeconds uint64
}

// Errors returned by Run.
var (
	ErrTimeout = errors.New("the program exceeded its time limit")
	ErrOutput  = errors.New("the program wrote more than its limit")
)

// Run runs a program and returns its standard output. Standard input is `in`, or empty if `in` is nil. Where the system
// supports it, the program is barred from using the network, starting other programs or writing files. Run stops it
// when ctx is done.
func Run(ctx context.Context, p Program, in *os.File) ([]byte, error) {
	exe, err := executable()
	if err != nil {
		return nil, fmt.Errorf("locating the executable: %w", err)
	}
	order, err := json.Marshal(launch{Path: p.Path, Args: p.Args, Env: p.Env, Files: p.Files, Memory: p.Memory, CPUSeconds: uint64(p.CPU.Seconds()) + 1})
	if err != nil {
		return nil, fmt.Errorf("encoding the request to start %s: %w", p.Path, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = []string{launchMarker + "=" + string(order), "GOTRACEBACK=single", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	cmd.Dir = p.Dir
	cmd.SysProcAttr = childAttributes()
	cmd.WaitDelay = time.Second
	if in != nil {
		cmd.Stdin = in
	}
	out := &boundedOutput{max: p.MaxOutput, exceeded: cancel}
	stderr := &headBuffer{}
	cmd.Stdout, cmd.Stderr = out, stderr
	var late atomic.Bool
	clock := time.AfterFunc(p.Timeout, func() {
		late.Store(true)
		cancel()
	})
	defer clock.Stop()
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the system kills the child when the thread that started it exits
		ended <- cmd.Run()
	}()
	err = <-ended
	switch {
	case err == nil:
		return out.data, nil
	case out.over:
		return nil, ErrOutput
	case late.Load():
		return nil, ErrTimeout
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(string(stderr.data)), " "))
}

// boundedOutput keeps a program's output, up to a limit. It doesn't need a lock: only one goroutine in os/exec writes
// to it, and that goroutine has finished by the time exec.Cmd's Run returns.
type boundedOutput struct {
	data     []byte
	max      int64
	over     bool
	exceeded func() // stops the program
}

func (b *boundedOutput) Write(p []byte) (int, error) {
	if b.over || int64(len(b.data)+len(p)) > b.max {
		b.over = true
		b.exceeded()
		return 0, io.ErrShortWrite
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

// launchIfAsked does nothing if this process was not started by Run. If it was, launchIfAsked turns it into the program
// to run and never returns.
func launchIfAsked() {
	value, asked := os.LookupEnv(launchMarker)
	if !asked {
		return
	}
	var l launch
	err := json.Unmarshal([]byte(value), &l)
	if err == nil {
		err = l.become()
	}
	fmt.Fprintln(os.Stderr, "starting the program:", err)
	os.Exit(2)
}
