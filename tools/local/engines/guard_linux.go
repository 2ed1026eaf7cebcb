package engines

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// executable is the running program itself, also after its file is gone, as it is after `go run`.
func executable() (string, error) { return "/proc/self/exe", nil }

// apart starts a guard in a session of its own: signals of the terminal are for the parent.
func apart() surroundings { return surroundings{attr: &syscall.SysProcAttr{Setsid: true}} }

// isolated starts a guard in network and mount namespaces of its own. Without being root that takes a user
// namespace, in which the guard is.
func isolated() surroundings {
	s := surroundings{attr: &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS}, wayOut: wayOutIsolated}
	if os.Geteuid() != 0 {
		s.attr.Cloneflags |= unix.CLONE_NEWUSER
		s.attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		s.attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return s
}

// ordinaryID is what root is called in the namespaces made by notRoot: any number but 0.
const ordinaryID = 1000

// notRoot starts a process that sees itself as an ordinary user, for programs that refuse to be root. Its files are
// those of the real user.
func notRoot() surroundings {
	s := apart()
	if os.Geteuid() == 0 {
		s.wayOut = wayOutNotRoot
		s.attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWIPC
		s.attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: ordinaryID, HostID: 0, Size: 1}}
		s.attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: ordinaryID, HostID: os.Getegid(), Size: 1}}
	}
	return s
}

// diesWithThread has a process killed when the thread that starts it ends.
func diesWithThread() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// adoptOrphans makes what the engine's processes leave behind children of this process.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the parent of orphans: %w", err)
	}
	return nil
}

// killAll kills the engine and everything that it started, and returns when nothing of it is left.
func killAll(engine *os.Process) {
	_ = engine.Kill() // it may have ended
	for {
		// A process has a parent at every moment, so each round finds the children of those that died in the last.
		for _, pid := range children() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		// The engine itself is waited for elsewhere as well; whoever is first gets it.
		switch pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
		case errors.Is(err, syscall.ECHILD):
			return
		case pid == 0:
			time.Sleep(time.Millisecond)
		}
	}
}

// children lists the processes whose parent this one is.
func children() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	me := []byte(strconv.Itoa(os.Getpid()))
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent …": the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && bytes.Equal(fields[1], me) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// furnishNamespace brings loopback up and puts an empty directory over /run, where Milvus keeps a file by a fixed
// name and a lock on it.
func furnishNamespace() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mount namespace private: %w (%s)", err, wayOutIsolated)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("mounting an empty /run: %w (%s)", err, wayOutIsolated)
	}
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a socket to bring loopback up: %w", err)
	}
	defer unix.Close(sock)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(sock, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("bringing loopback up: %w (%s)", err, wayOutIsolated)
	}
	return nil
}
