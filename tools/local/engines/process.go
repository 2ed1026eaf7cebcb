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

// Process is an engine's process. It is safe for concurrent use; calls that change its state are serialised.
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

// Kill kills the engine as in a crash and returns when all its processes have exited after SIGKILL. If the engine is
// not running, it does nothing.
func (p *Process) Kill() error { return p.end(commandKill) }

// Stop stops the engine in the fastest orderly way and returns when all its processes have exited. Milvus and Milvus
// Lite are killed, because their orderly shutdown takes over a minute or never ends. If the engine is not running, Stop
// does nothing.
func (p *Process) Stop() error { return p.end(commandStop) }

// Pause stops all of the engine's processes with SIGSTOP. The engine keeps its connections but does nothing until
// Resume, Kill, Stop or Restart is called. If the engine is not running, Pause does nothing.
func (p *Process) Pause() error { return p.signal(pauseTree) }

// Resume continues the processes stopped by Pause.
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
	_ = resumeTree(p.running.cmd.Process.Pid) // a paused guard would not read the command
	err := p.running.end(word)
	p.running = nil
	if err != nil {
		return fmt.Errorf("ending %s: %w", p.name, err)
	}
	return nil
}

// Restart restarts the engine with the same data and address and returns when it is ready. If the engine is still
// running, it is killed first.
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
	// `done` is closed when the guard process has exited.
	done chan struct{}
}

// guardTimeout is how long a guard process may take to stop its engine. After that, the guard process is killed, which
// also kills the engine.
const guardTimeout = stopTimeout + 10*time.Second

// launchChild starts a guard process for the engine and returns when the engine is ready. If `listener` is not nil, the
// guard process gets a copy of it, and the caller must close the original.
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
		_ = cmd.Wait() // the exit status does not matter, because all reports have been read
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

// errNoGuard is returned if the guard process does not call RunChildIfAsked.
var errNoGuard = errors.New("this program cannot guard an engine: call engines.RunChildIfAsked first in main or TestMain")

// watch sends the guard process's first report to the channel and logs later reports until the process exits.
// Otherwise, users of a crashed engine would see only refused connections.
func watch(out io.Reader, reports chan<- report, log string) {
	started := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue // output from a program that is not a guard
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
	_, _ = io.Copy(io.Discard, out) // drain the rest, because the scanner stops at overlong lines
}

// end sends the guard process a command that makes it exit and waits until it has.
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
