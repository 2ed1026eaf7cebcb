package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	readyTimeout   = 3 * time.Minute
	readyPoll      = 50 * time.Millisecond
	restartDelay   = time.Second // before restarting after an unexpected exit
	processStop    = 30 * time.Second
	readyzDeadline = 5 * time.Second
)

// process is one of the service's processes. It is restarted after an unexpected exit, as an orchestrator would do.
type process struct {
	name, addr string
	program    string
	dir        string
	env        []string

	mu      sync.Mutex
	cmd     *exec.Cmd     // nil if the process is not running
	exited  chan struct{} // closed when cmd has exited
	held    bool          // must not be restarted
	ended   int           // unexpected exits
	watcher sync.WaitGroup
}

// newProcess prepares a process. `program` is a path, and its file name selects an api process or an ingestor.
func newProcess(program, name, dir string, env ...string) (*process, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	p := &process{name: name, addr: l.Addr().String(), program: program, dir: filepath.Join(dir, name)}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, err
	}
	p.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "SLUICE_LOG_LEVEL=warn",
		"SLUICE_ADDR=" + p.addr, "SLUICE_DATA_DIR=" + p.dir,
	}, env...)
	return p, nil
}

// start starts the process unless it is running.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
	return p.launch()
}

// launch starts the process. The caller holds mu.
func (p *process) launch() error {
	if p.cmd != nil {
		return nil
	}
	log, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.program) //nolint:noctx // it runs until it is killed or stopped
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, log, log
	cmd.SysProcAttr = withParent()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the %s: %w", p.name, err)
	}
	p.cmd, p.exited = cmd, make(chan struct{})
	p.watcher.Add(1)
	go p.watch(cmd, p.exited)
	return nil
}

// watch waits for the process to exit, and restarts it unless kill or terminate keeps it down.
func (p *process) watch(cmd *exec.Cmd, exited chan struct{}) {
	defer p.watcher.Done()
	_ = cmd.Wait() // the reason is in the log
	p.mu.Lock()
	p.cmd = nil
	close(exited)
	again := !p.held
	if again {
		p.ended++
	}
	p.mu.Unlock()
	if !again {
		return
	}
	time.Sleep(restartDelay)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.held {
		_ = p.launch() // fails only if the program is gone, and then nothing becomes ready
	}
}

// kill kills the process and keeps it down until start is called.
func (p *process) kill() error { return p.end(syscall.SIGKILL) }

// terminate asks the process to stop, waits until it has, and keeps it down until start is called.
func (p *process) terminate() error { return p.end(syscall.SIGTERM) }

func (p *process) end(s syscall.Signal) error {
	p.mu.Lock()
	p.held = true
	cmd, exited := p.cmd, p.exited
	p.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending the %s: %w", p.name, err)
	}
	_ = cmd.Process.Signal(resumeSignal) // it may be paused
	timer := time.NewTimer(processStop)
	defer timer.Stop()
	select {
	case <-exited:
		return nil
	case <-timer.C:
		_ = cmd.Process.Kill()
		<-exited
		return fmt.Errorf("the %s did not stop within %s", p.name, processStop)
	}
}

// pause stops the process with SIGSTOP, and resume continues it.
func (p *process) pause() error  { return p.signal(pauseSignal) }
func (p *process) resume() error { return p.signal(resumeSignal) }

func (p *process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %s to the %s: %w", s, p.name, err)
	}
	return nil
}

// waitReady waits until the process answers /readyz with 200.
func (p *process) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		if p.isReady(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the %s, whose log is %s: %w", p.name, filepath.Join(p.dir, "log"), ctx.Err())
		case <-tick.C:
		}
	}
}

func (p *process) isReady(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, readyzDeadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
