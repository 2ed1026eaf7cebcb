package operate

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/cli"
)

// replayed simulates a replay. Each call returns the replay's next state; calls after the last state fail.
type replayed struct {
	states [][3]int64 // total, synched, failed
	looks  int
	look   func(n int)
}

func (r *replayed) progress(context.Context, string) (total, done, failed int64, err error) {
	if r.looks == len(r.states) {
		return 0, 0, 0, errors.New("there is nothing more to see")
	}
	s := r.states[r.looks]
	if r.looks++; r.look != nil {
		r.look(r.looks)
	}
	return s[0], s[1], s[2], nil
}

func TestAReplayIsShownUntilAllHasEnded(t *testing.T) {
	t.Parallel()
	states := [][3]int64{{4, 0, 0}, {4, 1, 1}, {4, 1, 1}, {4, 3, 1}}
	var slow [][3]int64 // 15 s at two calls per second
	for i := range int64(30) {
		slow = append(slow, [3]int64{100, i, 0})
	}
	for name, test := range map[string]struct {
		states [][3]int64
		show   func(*bytes.Buffer) cli.Progress
		want   []string // what must appear between carriage returns
		err    string
	}{
		"on one line of a terminal": {
			states: states, show: func(b *bytes.Buffer) cli.Progress { return cli.NewBar(b) },
			want: []string{
				"", "[········································] 0/4", "[####################····················] 2/4, 1 failed",
				"[####################····················] 2/4, 1 failed", "[########################################] 4/4, 1 failed\n",
			},
			err: "1 of 4 datasources failed: sluice datastores show lists them with the reasons",
		},
		"without anything of a longer line before": {
			states: [][3]int64{{2, 0, 1}, {1, 1, 0}}, show: func(b *bytes.Buffer) cli.Progress { return cli.NewBar(b) },
			want: []string{"", "[####################····················] 1/2, 1 failed", "[########################################] 1/1          \n"},
		},
		"by a line now and then elsewhere": {
			states: append(slow, [3]int64{100, 100, 0}), show: func(b *bytes.Buffer) cli.Progress { return cli.NewProgress(b) },
			want: []string{"0/100\n20/100\n100/100\n"},
		},
		"which is at once when there is nothing": {states: [][3]int64{{0, 0, 0}}, show: func(b *bytes.Buffer) cli.Progress { return cli.NewProgress(b) }, want: []string{"0/0\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				err := watchReplay(t.Context(), (&replayed{states: test.states}).progress, "id", test.show(&out))
				if (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
					t.Errorf("err = %v, want %q", err, test.err)
				}
				if diff := cmp.Diff(test.want, strings.Split(out.String(), "\r")); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestAReplayContinuesWithoutItsCommand(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	var out bytes.Buffer
	r := &replayed{states: [][3]int64{{4, 0, 0}}, look: func(int) { leave() }}
	if err := watchReplay(ctx, r.progress, "id", cli.NewProgress(&out)); err != nil {
		t.Error(err)
	}
	if got, want := out.String(), "The replay continues in the background.\n"; got != want {
		t.Errorf("the output is %q, want %q", got, want)
	}
}
