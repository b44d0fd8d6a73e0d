package config

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Place is where a setting was made: a line of a file, or a flag.
type Place struct {
	File string // path, or "flag -name"
	Line int    // 0 if unknown
}

func (p Place) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return p.File
}

// Problem is one mistake in the configuration, or one thing to warn of.
type Problem struct {
	Place
	Key  string // dotted; empty if the file as a whole is meant
	Text string
}

// Warning is a Problem that does not stop the agent.
type Warning = Problem

func (p Problem) String() string {
	var parts []string
	if at := p.Place.String(); at != "" {
		parts = append(parts, at)
	}
	if p.Key != "" {
		parts = append(parts, p.Key)
	}
	return strings.Join(append(parts, p.Text), ": ")
}

// Errors are all mistakes that Load found.
type Errors []Problem

func (e Errors) Error() string {
	if len(e) == 1 {
		return "configuration: " + e[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configuration: %d mistakes:", len(e))
	for _, p := range e {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// problems collects what is found on the way.
type problems struct {
	errs  Errors
	warns []Warning
}

func (p *problems) errorf(at Place, key, format string, args ...any) {
	e := Problem{at, key, fmt.Sprintf(format, args...)}
	if !slices.Contains(p.errs, e) { // a setting may serve several parts
		p.errs = append(p.errs, e)
	}
}

func (p *problems) warnf(at Place, key, format string, args ...any) {
	p.warns = append(p.warns, Problem{at, key, fmt.Sprintf(format, args...)})
}

// err is nil if nothing is wrong. Problems of one file are told in the order of
// its lines, files in the order they were read.
func (p *problems) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	order := map[string]int{}
	for _, e := range p.errs {
		if _, ok := order[e.File]; !ok {
			order[e.File] = len(order)
		}
	}
	sort.SliceStable(p.errs, func(i, j int) bool {
		a, b := p.errs[i], p.errs[j]
		if order[a.File] != order[b.File] {
			return order[a.File] < order[b.File]
		}
		return a.Line < b.Line
	})
	return p.errs
}
