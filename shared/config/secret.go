package config

import (
	"fmt"
	"io"
	"log/slog"
)

const hidden = "***"

// A Secret is text that must not be shown: it prints as *** with every verb of
// fmt, as JSON and in slog. Keep it in exported fields: fmt reads unexported
// ones without asking their type.
type Secret string

// Reveal returns the text itself, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

func (Secret) String() string { return hidden }

// Format is needed besides String: fmt shows the raw text for verbs that do not
// fit a string, such as %d.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText makes a Secret "***" in JSON.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue makes a Secret *** in slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }
