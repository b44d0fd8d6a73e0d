package acl

import (
	"fmt"
	"strings"

	"github.com/muster-discovery/muster/internal/model"
)

// Mistake is one thing that is wrong with the rules of a policy.
type Mistake struct {
	Policy string
	Line   int // 0: unknown
	Column int // in bytes, from 1
	Text   string
	Remedy string
	// bare: clients compare the whole text, so Error has nothing but that.
	bare bool
}

// Error is the text for clients. It begins as Consul's does.
func (m *Mistake) Error() string {
	if m.bare {
		return m.Text
	}
	text := m.Text
	if m.Line > 0 {
		text += fmt.Sprintf(" at line %d", m.Line)
		if m.Column > 0 {
			text += fmt.Sprintf(", column %d", m.Column)
		}
	}
	if m.Remedy != "" {
		text += "; " + m.Remedy
	}
	return text
}

// Explain is everything that is known about the mistake, for people.
func (m *Mistake) Explain() string {
	full := *m
	full.bare = false
	if m.Policy == "" {
		return full.Error()
	}
	return fmt.Sprintf("policy %q: %s", m.Policy, full.Error())
}

// Mistakes are all mistakes of a policy, in their order. A nil one is no error.
type Mistakes []*Mistake

// maxMistakes bounds what is told: who made more reads no further.
const maxMistakes = 20

func (m Mistakes) join(text func(*Mistake) string) string {
	lines := make([]string, len(m))
	for i := range m {
		lines[i] = text(m[i])
	}
	return strings.Join(lines, "\n")
}

func (m Mistakes) Error() string { return m.join((*Mistake).Error) }

// Explain is everything that is known about the mistakes, for people.
func (m Mistakes) Explain() string { return m.join((*Mistake).Explain) }

// Unwrap gives the error its kind.
func (m Mistakes) Unwrap() error {
	return &model.Error{Kind: model.KindInvalid, Field: "Rules", Text: m.Error()}
}

func (m Mistakes) or() error {
	if len(m) == 0 {
		return nil
	}
	return m
}
