package app

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheNameOfTheFileSelectsTheProcess(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]Shape{
		"sluice": API, "/usr/local/bin/sluice": API, "bin/api": API, "./ingestor": Ingestor, "/usr/local/bin/crawler": Crawler,
		"crawler.exe": Crawler, "sluice-2": API, "ingestor-old": API, "": API,
	} {
		if got := ShapeOf(file); got != want {
			t.Errorf("%q is the %s, want the %s", file, got, want)
		}
	}
}

// A process's commands can be run through a link named after the process or as subcommands of the main program.
func TestEachProcessIsAlsoACommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shape Shape
		args  []string
		code  int
		says  string
	}{
		{Ingestor, []string{"--help"}, 0, "usage: sluice ingestor [command]"},
		{Crawler, []string{"--help"}, 0, "usage: sluice crawler [command]"},
		{Ingestor, []string{"extract", "--help"}, 0, "usage: sluice ingestor extract"},
		{Crawler, []string{"plan", "--help"}, 0, "usage: sluice crawler plan"},
		{Crawler, []string{"version"}, 0, "sluice crawler "},
		{Ingestor, []string{"nonsense"}, 2, `sluice ingestor: unknown command "nonsense"; run sluice ingestor --help for a list`},
		{Ingestor, []string{"--nonsense", "1"}, 2, "unknown setting --nonsense"},
		{Crawler, []string{"nonsense", "--json"}, 2, `"exit":2`},
	} {
		direct, err := called(c.shape, c.args...)
		through, errThrough := called(API, append([]string{string(c.shape)}, c.args...)...)
		if err != c.code || errThrough != c.code || !strings.Contains(strings.ReplaceAll(direct, `": `, `":`), c.says) {
			t.Errorf("%s %v: exits with %d and %d, and says %q", c.shape, c.args, err, errThrough, direct)
		}
		if c.code == 0 && direct != through {
			t.Errorf("%s %v says %q, and as a command of the program %q", c.shape, c.args, direct, through)
		}
	}
}

func called(shape Shape, args ...string) (said string, code int) {
	var out bytes.Buffer
	code = Main(shape, args, nil, &out, &out)
	return out.String(), code
}
