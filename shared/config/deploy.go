package config

import (
	"errors"
	"time"
)

// DatabaseRole is who the functions log in as. migrate makes it, if it is named.
type DatabaseRole struct {
	Role        string `env:"DATABASE_ROLE"`
	Connections int    `env:"DATABASE_ROLE_CONNECTIONS" envDefault:"-1"` // at most; -1 for any number
}

// Warm says how many environments of purchase are kept ready around a sale.
type Warm struct {
	Target       string        `env:"WARM_TARGET"` // function:NAME:ALIAS; none for no warm environments
	Environments int           `env:"WARM_ENVIRONMENTS"`
	Before       time.Duration `env:"WARM_BEFORE" envDefault:"15m"` // the opening
	After        time.Duration `env:"WARM_AFTER" envDefault:"15m"`  // the opening, at most until the end
}

// Check refuses a target for nothing.
func (w *Warm) Check() error {
	var faults []error
	if w.Target != "" && w.Environments < 1 {
		faults = append(faults, errors.New("WARM_ENVIRONMENTS is malformed: with WARM_TARGET it must be 1 or more"))
	}
	if w.Before < 0 || w.After < time.Minute {
		faults = append(faults, errors.New("WARM_BEFORE or WARM_AFTER is malformed: 0s and 1m are the least"))
	}
	return errors.Join(faults...)
}
