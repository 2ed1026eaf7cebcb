package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Progress shows how far something is.
type Progress interface {
	// Update shows that so many of total have ended, those that failed included.
	Update(done, failed, total int64)
	// End is called last; text, unless it is "", is shown on a line of its own.
	End(text string)
}

// NewProgress shows progress on a terminal as one line that is drawn over and over, elsewhere, in a log say, as a line
// now and then.
func NewProgress(out io.Writer) Progress {
	if Terminal(out) {
		return NewBar(out)
	}
	return &progressLines{out: out}
}

// NewBar shows progress as one line that is drawn over and over.
func NewBar(out io.Writer) Progress { return &progressBar{out: out} }

// Terminal reports whether somebody sees at once what is written to out.
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

// display shows how far something is in words of its own, and what is worth a line in between.
type display interface {
	Progress
	// draw shows text, and how much of total is done.
	draw(done, total int64, text string)
	// note writes a line that stays.
	note(text string)
}

func newDisplay(out io.Writer) display {
	if Terminal(out) {
		return &progressBar{out: out}
	}
	return &progressLines{out: out}
}

// progressBar draws over its line.
type progressBar struct {
	out   io.Writer
	width int // of the line as it is
}

// Update implements Progress.
func (p *progressBar) Update(done, failed, total int64) {
	p.draw(done, total, sofar(done, failed, total))
}

func (p *progressBar) draw(done, total int64, text string) {
	const width = 40
	filled := int64(width)
	if total > 0 {
		filled = min(done*width/total, width)
	}
	p.over(fmt.Sprintf("[%s%s] %s", strings.Repeat("#", int(filled)), strings.Repeat("·", int(width-filled)), text))
}

// over writes a line over the one that is there, of which nothing stays.
func (p *progressBar) over(line string) {
	length := len([]rune(line))
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-length)))
	p.width = length
}

func (p *progressBar) note(text string) {
	if p.width > 0 {
		p.over("")
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

// progressLineEvery is how long there is at least between two lines.
const progressLineEvery = 10 * time.Second

// progressLines writes a line when something has changed, now and then, and at the end.
type progressLines struct {
	out     io.Writer
	line    string // as it is
	written string
	at      time.Time
}

// Update implements Progress.
func (p *progressLines) Update(done, failed, total int64) {
	p.draw(done, total, sofar(done, failed, total))
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

func (p *progressLines) note(text string) { fmt.Fprintln(p.out, text) }

// End implements Progress.
func (p *progressLines) End(text string) {
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
