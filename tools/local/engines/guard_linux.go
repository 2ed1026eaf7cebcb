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

// executable returns a path to the running program that works even if `go run` has deleted the file.
func executable() (string, error) { return "/proc/self/exe", nil }

// inNewSession returns attributes that start a guard process in its own session, so that terminal signals reach only
// the parent.
func inNewSession() processAttributes {
	return processAttributes{attr: &syscall.SysProcAttr{Setsid: true}}
}

// inNamespaces returns attributes that start a guard process in its own network and mount namespaces, plus a user
// namespace unless the user is root.
func inNamespaces() processAttributes {
	s := processAttributes{attr: &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS}, remedy: isolatedRemedy}
	if os.Geteuid() != 0 {
		s.attr.Cloneflags |= unix.CLONE_NEWUSER
		s.attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		s.attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return s
}

// The user id that root is mapped to in asOrdinaryUser's user namespace. Anything but 0 works.
const ordinaryID = 1000

// asOrdinaryUser returns attributes for programs that refuse to run as root. For root, the program runs as an ordinary
// user in a user namespace; its files still belong to root.
func asOrdinaryUser() processAttributes {
	s := inNewSession()
	if os.Geteuid() == 0 {
		s.remedy = notRootRemedy
		s.attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWIPC
		s.attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: ordinaryID, HostID: 0, Size: 1}}
		s.attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: ordinaryID, HostID: os.Getegid(), Size: 1}}
	}
	return s
}

// diesWithThread returns attributes that make the kernel kill a process when the thread that started it exits.
func diesWithThread() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// adoptOrphans makes this process the parent of the engine's orphaned processes.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a child subreaper: %w", err)
	}
	return nil
}

// killAll kills the engine and all its descendants. It returns when none is left.
func killAll(engine *os.Process) {
	_ = engine.Kill() // it may already have exited
	for {
		// Orphans become children of this process, so each round finds the children of processes killed in the last one.
		for _, pid := range children() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		// Another goroutine also waits for the engine. It doesn't matter which of the two gets the exit status.
		switch pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
		case errors.Is(err, syscall.ECHILD):
			return
		case pid == 0:
			time.Sleep(time.Millisecond)
		}
	}
}

func children() []int { return childrenOf(os.Getpid()) }

// childrenOf returns the child processes of a process.
func childrenOf(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	parent := []byte(strconv.Itoa(pid))
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has exited
		}
		// The format is "pid (name) state parent …", and the name may contain any character.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && bytes.Equal(fields[1], parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// pauseTree stops a process and its descendants. Parents stop first, so that they can't start new children.
func pauseTree(pid int) error { return signalTree(pid, syscall.SIGSTOP) }

// resumeTree continues a process and its descendants.
func resumeTree(pid int) error { return signalTree(pid, syscall.SIGCONT) }

func signalTree(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %s to process %d: %w", s, pid, err)
	}
	var faults []error
	for _, child := range childrenOf(pid) {
		faults = append(faults, signalTree(child, s))
	}
	return errors.Join(faults...)
}

// setUpNamespace brings loopback up and mounts an empty directory on /run, where Milvus locks a file with a fixed name.
func setUpNamespace() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mount namespace private: %w (%s)", err, isolatedRemedy)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("mounting an empty /run: %w (%s)", err, isolatedRemedy)
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
		return fmt.Errorf("bringing loopback up: %w (%s)", err, isolatedRemedy)
	}
	return nil
}
