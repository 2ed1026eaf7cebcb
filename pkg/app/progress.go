package app

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows how far something is.
type progress interface {
	// update shows that so many of total have ended, those that failed included.
	update(done, failed, total int64)
	// end is called last; text, unless it is "", is shown on a line of its own.
	end(text string)
}

// newProgress shows progress on a terminal as one line that is drawn over and over, elsewhere, in a log say, as a line
// now and then.
func newProgress(out io.Writer) progress {
	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &progressBar{out: out}
		}
	}
	return &progressLines{out: out}
}

// progressBar draws over its line.
type progressBar struct {
	out   io.Writer
	width int // of the line as it is
}

func (p *progressBar) update(done, failed, total int64) {
	const width = 40
	filled := int64(width)
	if total > 0 {
		filled = min(done*width/total, width)
	}
	line := fmt.Sprintf("[%s%s] %s", strings.Repeat("#", int(filled)), strings.Repeat("·", int(width-filled)), sofar(done, failed, total))
	length := len([]rune(line))
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-length))) // nothing of a longer one stays
	p.width = length
}

func (p *progressBar) end(text string) {
	fmt.Fprintln(p.out)
	if text != "" {
		fmt.Fprintln(p.out, text)
	}
}

// progressLineEvery is how long there is at least between two lines.
const progressLineEvery = 10 * time.Second

// progressLines writes a line when something has changed, now and then, and at the end.
type progressLines struct {
	out     io.Writer
	line    string // as it is
	written string
	at      time.Time
}

func (p *progressLines) update(done, failed, total int64) {
	p.line = sofar(done, failed, total)
	if time.Since(p.at) >= progressLineEvery {
		p.write()
	}
}

func (p *progressLines) write() {
	if p.line != p.written {
		fmt.Fprintln(p.out, p.line)
		p.written, p.at = p.line, time.Now()
	}
}

func (p *progressLines) end(text string) {
	p.write()
	if text != "" {
		fmt.Fprintln(p.out, text)
	}
}

func sofar(done, failed, total int64) string {
	text := fmt.Sprintf("%d/%d", done, total)
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	return text
}
