package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deniedCalls are system calls that reading a document never needs. They use the network, start programs, affect other
// processes, or reach large, rarely used parts of the kernel. They fail with EPERM.
var deniedCalls = append([]uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT}, deniedToPrograms...)

// deniedToPrograms are the system calls denied to launched programs.
var deniedToPrograms = []uint32{
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD,
	unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
	unix.SYS_IO_URING_SETUP, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_MEMFD_CREATE,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
}

// callABI describes an architecture's system calls.
type callABI struct {
	arch   uint32
	denied []uint32 // more calls to deny, which other architectures lack
	below  uint32   // calls from this number on belong to another ABI, which is denied entirely; 0 if none
}

var callABIs = map[string]callABI{
	"amd64": {unix.AUDIT_ARCH_X86_64, []uint32{57, 58}, 0x40000000}, // fork and vfork; the x32 ABI
	"arm64": {unix.AUDIT_ARCH_AARCH64, nil, 0},
}

// Byte offsets of the fields in struct seccomp_data. All supported architectures are little-endian.
const (
	dataNumber   = 0
	dataArch     = 4
	dataArgument = 16 // the first argument's lower half
)

// limitCalls denies the given system calls in all threads, as well as starting processes and signalling other
// processes.
func limitCalls(denied []uint32) error {
	abi, ok := callABIs[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("no system call filter for %s", runtime.GOARCH)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	filter := callFilter(abi, denied, uint32(os.Getpid()))
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	result, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return fmt.Errorf("filtering system calls: %w", errno)
	}
	if result != 0 {
		return errors.New("filtering system calls: another thread already has a filter")
	}
	return nil
}

// callFilter returns the BPF program that filters system calls. It allows new threads but not new processes. A process
// may signal only itself, as Go's scheduler requires.
func callFilter(abi callABI, denied []uint32, pid uint32) []unix.SockFilter {
	stmt := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	load := func(at uint32) unix.SockFilter { return stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at) }
	ret := func(k uint32) unix.SockFilter { return stmt(unix.BPF_RET|unix.BPF_K, k) }
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: k, Jt: yes, Jf: no}
	}
	allow := ret(unix.SECCOMP_RET_ALLOW)
	deny := ret(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))

	f := []unix.SockFilter{load(dataArch), jump(unix.BPF_JEQ, abi.arch, 1, 0), deny, load(dataNumber)}
	if abi.below > 0 {
		f = append(f, jump(unix.BPF_JGE, abi.below, 0, 1), deny)
	}
	for _, calls := range [][]uint32{denied, abi.denied} {
		for _, nr := range calls {
			f = append(f, jump(unix.BPF_JEQ, nr, 0, 1), deny)
		}
	}
	// If clone3 is denied, callers fall back to clone, whose flags the filter can check.
	f = append(f, jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), ret(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)))
	f = append(f, jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4), load(dataArgument), jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1), allow, deny)
	for _, nr := range []uint32{unix.SYS_KILL, unix.SYS_TGKILL} {
		f = append(f, jump(unix.BPF_JEQ, nr, 0, 4), load(dataArgument), jump(unix.BPF_JEQ, pid, 0, 1), allow, deny)
	}
	return append(f, allow)
}
