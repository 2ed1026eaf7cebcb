package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// handover passes open files to a child, because the child isn't allowed to open documents itself.
type handover struct{ parent, child *os.File }

// handoverFD is the descriptor of the child's socket: the first after stdin, stdout and stderr.
const handoverFD = 3

func newHandover() (*handover, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("creating a socket to pass files to the extraction process: %w", err)
	}
	return &handover{os.NewFile(uintptr(pair[0]), "handover"), os.NewFile(uintptr(pair[1]), "handover")}, nil
}

// files returns the files that the child inherits.
func (h *handover) files() []*os.File { return []*os.File{h.child} }

// started closes the parent's copy of the child's socket. Call it once the child is running.
func (h *handover) started() { _ = h.child.Close() }

func (h *handover) close() {
	_ = h.child.Close() // fails if started has already closed it
	_ = h.parent.Close()
}

// give passes an open file to the child. It can't block, because the child has already received the previous file.
func (h *handover) give(f *os.File) error {
	conn, err := h.parent.SyscallConn()
	if err != nil {
		return err
	}
	file, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = file.Control(func(fd uintptr) {
		rights := unix.UnixRights(int(fd))
		if err := conn.Control(func(socket uintptr) {
			sent = unix.Sendmsg(int(socket), []byte{0}, rights, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		}); err != nil {
			sent = err
		}
	})
	if err := errors.Join(err, sent); err != nil {
		return fmt.Errorf("passing the document to the extraction process: %w", err)
	}
	return nil
}

// takeFile receives the open document that the parent passed for the current request.
func takeFile(string) (*os.File, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(handoverFD, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("receiving the document from the parent process: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return nil, fmt.Errorf("receiving the document from the parent process: %w", err)
	}
	for _, m := range messages {
		if fds, err := unix.ParseUnixRights(&m); err == nil && len(fds) == 1 {
			return os.NewFile(uintptr(fds[0]), "document"), nil
		}
	}
	return nil, errors.New("the parent process passed no document")
}
