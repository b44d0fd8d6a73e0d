package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress tells now and then how far something is: on a terminal as a bar that is
// drawn anew, else as a line.
type progress struct {
	w     io.Writer
	ask   func() (stage string, done, total int)
	every time.Duration
	bar   bool
	end   chan struct{}
	ended chan struct{}
}

// How often it tells: a bar is to look alive, a log is not to be filled.
const (
	barEvery  = 200 * time.Millisecond
	lineEvery = 10 * time.Second
)

// startProgress begins; stop ends it.
func startProgress(w io.Writer, ask func() (stage string, done, total int)) *progress {
	p := &progress{w: w, ask: ask, every: lineEvery, end: make(chan struct{}), ended: make(chan struct{})}
	if isTerminal(w) {
		p.bar, p.every = true, barEvery
	}
	go p.run()
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) stop() {
	close(p.end)
	<-p.ended
}

func (p *progress) run() {
	defer close(p.ended)
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.tell()
		case <-p.end:
			if p.bar {
				fmt.Fprint(p.w, "\r\x1b[K") // the report stands for itself
			}
			return
		}
	}
}

const barWidth = 30

func (p *progress) tell() {
	stage, done, total := p.ask()
	if stage == "" {
		return
	}
	text := fmt.Sprintf("%s: %d", stage, done)
	if total >= 0 {
		text += fmt.Sprintf(" of %d", total)
	}
	if !p.bar {
		fmt.Fprintln(p.w, text)
		return
	}
	if total > 0 {
		n := min(done*barWidth/total, barWidth)
		text = "[" + strings.Repeat("=", n) + strings.Repeat(" ", barWidth-n) + "] " + text
	}
	fmt.Fprint(p.w, "\r\x1b[K"+text)
}
