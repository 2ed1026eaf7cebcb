package engines

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Process is an engine's process. It is safe for concurrent use: calls that change its state are serialised.
type Process struct {
	name   string
	launch func(context.Context) (*child, error)

	mu      sync.Mutex
	running *child // nil after Kill or Stop
}

// start starts the process for the first time.
func (p *Process) start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, err := p.launch(ctx)
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	p.running = c
	return nil
}

// Kill kills the engine as in a crash and waits until all its processes have exited. It does nothing if the engine is
// not running.
func (p *Process) Kill() error { return p.end(commandKill) }

// Stop stops the engine with its fastest clean shutdown and waits until all its processes have exited. It kills Milvus
// and Milvus Lite, because their clean shutdown takes over a minute or never ends. It does nothing if the engine is not
// running.
func (p *Process) Stop() error { return p.end(commandStop) }

// Pause stops all of the engine's processes with SIGSTOP. The engine keeps its connections, but does nothing until
// Resume, Kill, Stop or Restart. If the engine is not running, Pause does nothing.
func (p *Process) Pause() error { return p.signal(pauseTree) }

// Resume continues the processes that Pause stopped.
func (p *Process) Resume() error { return p.signal(resumeTree) }

func (p *Process) signal(send func(pid int) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return nil
	}
	return send(p.running.cmd.Process.Pid)
}

func (p *Process) end(word string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return nil
	}
	_ = resumeTree(p.running.cmd.Process.Pid) // a paused guard couldn't read the command
	err := p.running.end(word)
	p.running = nil
	if err != nil {
		return fmt.Errorf("ending %s: %w", p.name, err)
	}
	return nil
}

// Restart restarts the engine with the same data and address and waits until it is ready. A running engine is killed
// first.
func (p *Process) Restart(ctx context.Context) error {
	if err := p.Kill(); err != nil {
		return err
	}
	return p.start(ctx)
}

// child is a running guard process and its engine.
type child struct {
	cmd   *exec.Cmd
	words io.WriteCloser
	// Closed when the guard process has exited.
	done chan struct{}
}

// Time limit for a guard process to stop its engine. After that, the guard is killed, and the engine with it.
const guardTimeout = stopTimeout + 10*time.Second

// launchChild starts a guard process for the engine and waits until the engine is ready. If `listener` is not nil, the
// guard gets a copy, and the caller must close the original.
func launchChild(ctx context.Context, s spec, where processAttributes, listener *net.TCPListener) (*child, error) {
	if _, guarded := os.LookupEnv(guardMarker); guarded {
		return nil, errNoGuard
	}
	exe, err := executable()
	if err != nil {
		return nil, err
	}
	order, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe) //nolint:noctx // it runs until it is told to end
	cmd.Env = append(os.Environ(), guardMarker+"=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = where.attr
	if listener != nil {
		f, err := listener.File()
		if err != nil {
			return nil, fmt.Errorf("handing over the listener: %w", err)
		}
		defer f.Close()
		cmd.ExtraFiles = []*os.File{f}
	}
	words, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, where.explain(err)
	}
	c := &child{cmd: cmd, words: words, done: make(chan struct{})}
	reports := make(chan report, 1)
	go func() {
		defer close(c.done)
		watch(out, reports, s.Log)
		_ = cmd.Wait() // the reports have already said everything
	}()
	if _, err := words.Write(append(order, '\n')); err != nil {
		return nil, errors.Join(fmt.Errorf("sending the command to the guard: %w", err), c.end(commandKill))
	}
	select {
	case r := <-reports:
		if !r.Ready {
			return nil, errors.Join(errors.New(r.Fault+logTail(s.Log)), c.end(commandKill))
		}
		return c, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), c.end(commandKill))
	}
}

// errNoGuard is returned if the guard process doesn't call RunChildIfAsked.
var errNoGuard = errors.New("this program cannot guard an engine: call engines.RunChildIfAsked first in main or TestMain")

// watch sends the guard's first report to the channel and logs later reports until the process exits. Without the log,
// a crashed engine would show up only as refused connections.
func watch(out io.Reader, reports chan<- report, log string) {
	started := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue // not a guard's output
		}
		if started {
			slog.Error("engine ended", "fault", r.Fault, "log", log)
			continue
		}
		started = true
		reports <- r
	}
	if !started {
		reports <- report{Fault: errNoGuard.Error()}
	}
	_, _ = io.Copy(io.Discard, out) // the scanner stops at overlong lines
}

// end sends the guard process a command to exit and waits until it has.
func (c *child) end(word string) error {
	_, _ = io.WriteString(c.words, word+"\n") // fails only if the guard has exited
	_ = c.words.Close()
	timer := time.NewTimer(guardTimeout)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
		_ = c.cmd.Process.Kill()
		<-c.done
		return fmt.Errorf("its guard process did not exit within %s and was killed", guardTimeout)
	}
}

// logTail returns the end of a log for an error message, or "" if the log is empty or missing.
func logTail(path string) string {
	const limit = 2 << 10
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-limit), io.SeekStart)
	}
	tail, _ := io.ReadAll(io.LimitReader(f, limit))
	if text := strings.TrimSpace(string(tail)); text != "" {
		return "; the end of " + path + ":\n" + text
	}
	return ""
}
