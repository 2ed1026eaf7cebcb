package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Progress shows an operation's progress.
type Progress interface {
	// Update shows how many of `total` items are done. Failed items count as done.
	Update(done, failed, total int64)
	// End must be called last. It prints text, if any, on a separate line.
	End(text string)
}

// NewProgress returns a Progress that writes to `out`. On a terminal, it redraws a single line. Elsewhere, for example
// in a log, it writes a new line from time to time.
func NewProgress(out io.Writer) Progress {
	if Terminal(out) {
		return NewBar(out)
	}
	return &progressLines{out: out}
}

// NewBar returns a Progress that redraws one line.
func NewBar(out io.Writer) Progress { return &progressBar{out: out} }

// Terminal reports whether `out` is a terminal.
func Terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	nowhere, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, nowhere)
}

// display is a Progress that can also print permanent lines and show text next to the progress.
type display interface {
	Progress
	// draw shows the text and how many of `total` items are done.
	draw(done, total int64, text string)
	// printLine prints a permanent line.
	printLine(text string)
}

func newDisplay(out io.Writer) display {
	if Terminal(out) {
		return &progressBar{out: out}
	}
	return &progressLines{out: out}
}

// progressBar is a display that redraws one line.
type progressBar struct {
	out   io.Writer
	width int // width of the current line
}

// Update implements Progress.
func (p *progressBar) Update(done, failed, total int64) {
	p.draw(done, total, formatProgress(done, failed, total))
}

func (p *progressBar) draw(done, total int64, text string) {
	const width = 40
	filled := int64(width)
	if total > 0 {
		filled = min(done*width/total, width)
	}
	p.overwrite(fmt.Sprintf("[%s%s] %s", strings.Repeat("#", int(filled)), strings.Repeat("·", int(width-filled)), text))
}

func (p *progressBar) overwrite(line string) {
	length := len([]rune(line))
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-length)))
	p.width = length
}

func (p *progressBar) printLine(text string) {
	if p.width > 0 {
		p.overwrite("")
		fmt.Fprint(p.out, "\r")
	}
	p.width = 0
	fmt.Fprintln(p.out, text)
}

// End implements Progress.
func (p *progressBar) End(text string) {
	fmt.Fprintln(p.out)
	p.width = 0
	if text != "" {
		fmt.Fprintln(p.out, text)
	}
}

// Minimum time between two lines.
const progressLineEvery = 10 * time.Second

// progressLines is a display that writes changes as new lines, at most one every progressLineEvery, plus a final line.
type progressLines struct {
	out     io.Writer
	line    string // the current text
	written string
	at      time.Time
}

// Update implements Progress.
func (p *progressLines) Update(done, failed, total int64) {
	p.draw(done, total, formatProgress(done, failed, total))
}

func (p *progressLines) draw(_, _ int64, text string) {
	p.line = text
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

func (p *progressLines) printLine(text string) { fmt.Fprintln(p.out, text) }

// End implements Progress.
func (p *progressLines) End(text string) {
	p.write()
	if text != "" {
		fmt.Fprintln(p.out, text)
	}
}

func formatProgress(done, failed, total int64) string {
	text := fmt.Sprintf("%d/%d", done, total)
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	return text
}
