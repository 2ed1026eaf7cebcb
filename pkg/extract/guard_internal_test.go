package extract

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/sandbox"
)

// AskChild makes a child do something that no parser should do, and returns its answer.
func AskChild(t *testing.T, x *Extractor, what string) (string, error) {
	t.Helper()
	doc, err := x.Extract(t.Context(), Request{Reader: strings.NewReader(MisbehavePrefix + what), Name: "a.txt"})
	if err != nil {
		return "", err
	}
	var text []string
	for _, b := range doc.Blocks {
		text = append(text, b.Text)
	}
	return strings.Join(text, "\n"), nil
}

// RequireRestrictions skips a test if children can't drop all their rights on this system or in this build.
func RequireRestrictions(t *testing.T, x *Extractor) {
	t.Helper()
	w, err := x.take()
	if err != nil {
		t.Fatal(err)
	}
	x.release(w)
	MustExtract(t, x, "a first document")
	if len(w.Missing) > 0 {
		t.Skipf("children keep rights here: %s", strings.Join(w.Missing, "; "))
	}
}

func TestAChildInheritsNothing(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	// Open a descriptor without the close-on-exec flag, because a supervisor may leak such descriptors to the service.
	fd, err := unix.Open("/etc/passwd", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const passed = 50
	if err := unix.Dup3(fd, passed, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(passed)
	x := NewTestExtractor(t, Options{Concurrency: 1})
	environ, err := AskChild(t, x, "environ")
	if err != nil || strings.Contains(environ, "secret") || !strings.Contains(environ, sandbox.ChildMarker) {
		t.Errorf("the child's environment is %q, error %v", environ, err)
	}
	open, err := AskChild(t, x, "descriptors")
	if err != nil || !strings.HasPrefix(open, "0 ") || strings.Contains(open, "\n"+strconv.Itoa(passed)+" ") {
		t.Errorf("the child has open %q, error %v; want nothing of what the parent's supervisor opened", open, err)
	}
}

func TestAMisbehavingChildFailsOneDocument(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		what    string
		options Options
		want    format.Kind
		message string
		used    bool // the child is used again
	}{
		"one that takes all memory":         {"allocate", Options{MaxMemory: 200 << 20}, format.Resources, "more than 200 MiB of memory", false},
		"one that its watchdog ends":        {"watch", Options{}, format.Resources, "of memory", false},
		"one that never stops":              {"spin", Options{Timeout: time.Second}, format.Resources, "reading the file took ", false},
		"one that stands still":             {"wait", Options{Timeout: 50 * time.Millisecond}, format.Resources, "longer than 0.15 seconds", false},
		"one that calls itself without end": {"recurse", Options{}, format.Damaged, "nested too deeply", false},
		"one that panics":                   {"panic", Options{}, format.Damaged, "reading it failed unexpectedly", false},
		"one that ends":                     {"exit", Options{}, format.Damaged, "reading it failed unexpectedly", false},
		"one that answers without end":      {"overflow", Options{MaxText: 1 << 20}, format.TooLarge, "too much text", false},
		"one that has grown":                {"grow", Options{MaxMemory: 700 << 20}, "", "", false},
		"one that does what it is asked to": {"nothing", Options{}, "", "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			tt.options.Concurrency, tt.options.TempDir = 1, temp
			x := NewTestExtractor(t, tt.options)
			w, err := x.take()
			if err != nil {
				t.Fatal(err)
			}
			x.release(w)
			_, err = AskChild(t, x, tt.what)
			if format.KindOf(err) != tt.want || tt.want == "" && err != nil || err != nil && !strings.Contains(err.Error(), tt.message) {
				t.Errorf("error = %.300v, want kind %q that says %q", err, tt.want, tt.message)
			}
			if used := len(x.Idle) == 1 && x.Idle[0].Worker == w; used != tt.used {
				t.Errorf("the child is used again: %t, want %t", used, tt.used)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if err := unix.Kill(w.Process().Pid, 0); !errors.Is(err, unix.ESRCH) {
				t.Errorf("the child is there after Close: %v", err)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("files are left: %v, error %v", left, err)
			}
		})
	}
}

// TestAChildEndsWithItsParent runs this test binary as a parent process and kills it while its child is reading an
// endless document.
func TestAChildEndsWithItsParent(t *testing.T) {
	if os.Getenv("TEST_PARENT") != "" {
		x := New(Options{Concurrency: 1})
		w, err := x.take()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString("child " + strconv.Itoa(w.Process().Pid) + "\n"); err != nil {
			t.Fatal(err)
		}
		x.release(w)
		_, err = AskChild(t, x, "wait")
		t.Fatalf("the document ended: %v", err)
	}
	t.Parallel()
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestAChildEndsWithItsParent$")
	parent.Env = append(os.Environ(), "TEST_PARENT=1", "TMPDIR="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "child ")))
	if err != nil {
		t.Fatal(err)
	}
	child, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Skipf("ends of processes cannot be waited for here: %v", err)
	}
	defer unix.Close(child)
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil { // a stopped child cannot see the end of its input
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // the error only says that the parent was killed
	ended, err := unix.Poll([]unix.PollFd{{Fd: int32(child), Events: unix.POLLIN}}, 10_000)
	if err != nil || ended != 1 {
		t.Errorf("the child lives 10 seconds after its parent was killed: %v", err)
	}
}
