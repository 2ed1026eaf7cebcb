package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/domain"
)

// newTestProgram returns a program with one command of each kind.
func newTestProgram(out *bytes.Buffer) (*Program, *cobra.Command, *[]string) {
	p := &Program{Name: "tool", About: "Tool is a tool.", Version: "1", Out: out, Err: out}
	var did []string
	do := func(name string) *cobra.Command {
		cmd := &cobra.Command{Use: name, Short: "Do " + name, GroupID: GroupProcess, Args: AtMost(1)}
		size := cmd.Flags().Int("size", 0, "how much")
		cmd.RunE = func(_ *cobra.Command, args []string) error {
			did = append(did, fmt.Sprintf("%s %v %d %v", name, args, *size, p.JSON))
			return nil
		}
		return cmd
	}
	group := &cobra.Command{Use: "things", Short: "Things", GroupID: GroupUse}
	one, two := do("one"), do("two")
	one.GroupID, two.GroupID = "", ""
	group.AddCommand(one, two)
	return p, p.Root(do("serve"), do("work"), group), &did
}

func TestCallsAreUnderstood(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                         "serve [] 0 false",
		"work":                     "work [] 0 false",
		"work --size 3 x":          "work [x] 3 false",
		"work -size=3":             "work [] 3 false",
		"work x -json":             "work [x] 0 true",
		"--json things two":        "two [] 0 true",
		"work -- -size":            "work [-size] 0 false",
		"work x y":                 `unexpected argument "y"; usage: tool work [flags] (help: tool work --help)`,
		"worc":                     `unknown command "worc"; did you mean work? Run tool --help for a list`,
		"help things tow":          "unknown command \"tow\"; did you mean two? Run tool things --help for a list; usage: tool help [command] [flags] (help: tool help --help)",
		"help nothing":             "unknown command \"nothing\"; run tool --help for a list; usage: tool help [command] [flags] (help: tool help --help)",
		"things":                   "missing command: one or two; usage: tool things [flags] (help: tool things --help)",
		"things tow":               "unknown command \"things tow\"; did you mean two? usage: tool things [flags] (help: tool things --help)",
		"work --siz 3":             "unknown flag --siz; did you mean --size? usage: tool work [flags] (help: tool work --help)",
		"work --quite-another-one": "unknown flag --quite-another-one; usage: tool work [flags] (help: tool work --help)",
		"work --size many":         `invalid argument "many" for "--size" flag: strconv.ParseInt: parsing "many": invalid syntax; usage: tool work [flags] (help: tool work --help)`,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			p, root, did := newTestProgram(&out)
			err := p.Execute(t.Context(), root, strings.Fields(args))
			got := strings.Join(*did, ", ")
			if err != nil {
				got = err.Error()
				if ExitOf(err) != Misused {
					t.Errorf("exit code %d", ExitOf(err))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorsHaveExitCodes(t *testing.T) {
	t.Parallel()
	for want, errs := range map[Exit][]error{
		OK: {nil},
		Failed: {errors.New("x"), domain.Invalid("a", "b"), Fault(t.Context(), &client.Error{Status: http.StatusBadRequest}),
			Fault(t.Context(), fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Path: "/none", Err: syscall.ENOENT}))},
		Misused:     {Misusedf("x"), fmt.Errorf("more: %w", Misusedf("x"))},
		Forbidden:   {domain.Errorf(domain.CodeUnauthorized, "x"), Fault(t.Context(), &client.Error{Status: http.StatusForbidden})},
		NotFound:    {domain.NotFound("agent", "x"), Fault(t.Context(), &client.Error{Status: http.StatusNotFound})},
		Damaged:     {WithExit(Damaged, errors.New("x"))},
		Unavailable: {Fault(t.Context(), &client.Error{Status: http.StatusServiceUnavailable}), Fault(t.Context(), client.ErrUnfinished)},
		Stopped:     {context.Canceled},
	} {
		for _, err := range errs {
			if got := ExitOf(err); got != want {
				t.Errorf("%v ends with %d, want %d", err, got, want)
			}
		}
	}
	var out bytes.Buffer
	Report(&out, "tool", WithExit(NotFound, errors.New("no \x1b[31mthing")), false)
	Report(&out, "tool", WithExit(NotFound, errors.New("no <thing>")), true)
	if diff := cmp.Diff("tool: no  [31mthing\n{\"error\":{\"code\":\"not_found\",\"exit\":5,\"message\":\"no <thing>\"}}\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestHelpOfACommand(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p, root, _ := newTestProgram(&out)
	if err := p.Execute(t.Context(), root, []string{"work", "--help"}); err != nil {
		t.Fatal(err)
	}
	want := "usage: tool work [flags]\n\nDo work.\n\nFlags:\n      --size int   how much\n\nGlobal flags:\n  -h, --help   show this help\n      --json   print results and errors as JSON\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestAnInterruptedCommandDoesNotWaitForInput(t *testing.T) {
	t.Parallel()
	waiting, writer := io.Pipe()
	t.Cleanup(func() { writer.Close() })
	ctx, stop := context.WithCancel(t.Context())
	p := &Program{In: waiting}
	in := p.Input(ctx)
	_, err := writer.Write([]byte("some"))
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if got, err := io.ReadAll(in); !errors.Is(err, context.Canceled) || len(got) > 4 {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := io.ReadAll((&Program{In: io.NopCloser(strings.NewReader("all"))}).Input(t.Context())); string(got) != "all" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAProgressBarAllowsOtherLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	bar := &progressBar{out: &out}
	bar.draw(1, 2, "half")
	bar.printLine("something")
	bar.draw(2, 2, "all")
	bar.End("")
	blank := strings.Repeat(" ", len([]rune("[####################····················] half")))
	want := "\r[####################····················] half\r" + blank + "\rsomething\n\r[########################################] all\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
