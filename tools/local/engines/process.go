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

// Process is one engine's process. It is safe for concurrent use; calls that change its state wait for each other.
type Process struct {
	name   string
	launch func(context.Context) (*child, error)

	mu      sync.Mutex
	running *child // nil when it was killed or stopped
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

// Kill ends the engine as a crash would: SIGKILL to all its processes at once. It returns when they are gone. Killing
// what does not run does nothing.
func (p *Process) Kill() error { return p.end(wordKill) }

// Stop ends the engine in the fastest way that is no crash, and returns when all its processes are gone: Milvus and
// Milvus Lite, which take over a minute to end or do not end, are killed. Stopping what does not run does nothing.
func (p *Process) Stop() error { return p.end(wordStop) }

func (p *Process) end(word string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return nil
	}
	err := p.running.end(word)
	p.running = nil
	if err != nil {
		return fmt.Errorf("ending %s: %w", p.name, err)
	}
	return nil
}

// Restart starts the engine again on the same data and the same address and returns when it serves. If it still
// runs, it is killed first.
func (p *Process) Restart(ctx context.Context) error {
	if err := p.Kill(); err != nil {
		return err
	}
	return p.start(ctx)
}

// child is a running guard with its engine.
type child struct {
	cmd   *exec.Cmd
	words io.WriteCloser
	// done is closed when the guard has ended.
	done chan struct{}
}

// ownEnd bounds how long a guard may take to end its engine before it is killed itself, which kills the engine.
const ownEnd = stopTimeout + 10*time.Second

// launchChild starts a guard in these surroundings for the engine, and returns when the engine serves. The listener,
// if any, is the guard's from then on; the caller closes its own.
func launchChild(ctx context.Context, s spec, where surroundings, listener *net.TCPListener) (*child, error) {
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
	cmd := exec.Command(exe) //nolint:noctx // it lives until it is told to end
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
		_ = cmd.Wait() // how the guard ended is of no interest: what it had to say is read
	}()
	if _, err := words.Write(append(order, '\n')); err != nil {
		return nil, errors.Join(fmt.Errorf("telling the guard what to run: %w", err), c.end(wordKill))
	}
	select {
	case r := <-reports:
		if !r.Ready {
			return nil, errors.Join(errors.New(r.Fault+logTail(s.Log)), c.end(wordKill))
		}
		return c, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), c.end(wordKill))
	}
}

// errNoGuard says that the program that was started as a guard went on as if it were not.
var errNoGuard = errors.New("this program is no guard of an engine: call engines.RunChildIfAsked first in main or TestMain")

// watch sends the guard's first report on, and reads until the guard ends. Of an engine that ends by itself after its
// start nobody else may tell: who uses it sees only that its connections are refused.
func watch(out io.Reader, reports chan<- report, log string) {
	started := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue // a program that is no guard prints what it likes
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
	_, _ = io.Copy(io.Discard, out) // a line too long for the scanner must not hold the program up
}

// end says the word to the guard and waits for its end.
func (c *child) end(word string) error {
	_, _ = io.WriteString(c.words, word+"\n") // a guard that has ended does not listen
	_ = c.words.Close()
	timer := time.NewTimer(ownEnd)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
		_ = c.cmd.Process.Kill()
		<-c.done
		return fmt.Errorf("its guard did not end within %s and was killed", ownEnd)
	}
}

// logTail returns the end of a log for an error message, "" if there is nothing.
func logTail(path string) string {
	const most = 2 << 10
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-most), io.SeekStart)
	}
	tail, _ := io.ReadAll(io.LimitReader(f, most))
	if text := strings.TrimSpace(string(tail)); text != "" {
		return "; the end of " + path + ":\n" + text
	}
	return ""
}
