package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// axe is axe-core's program text, from the Python package that carries it.
var axe = sync.OnceValues(func() (string, error) {
	folder, err := exec.Command("../deploy/python.sh", "axe").Output() //nolint:noctx // bounded by the test
	if err != nil {
		return "", fmt.Errorf("axe: %w", err)
	}
	found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "../lib/python3*/site-packages/axe_playwright_python/axe.min.js"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("axe: found %q, %v", found, err)
	}
	text, err := os.ReadFile(found[0])
	return string(text), err
})

// accessible runs all of axe's rules for WCAG 2.2 AA, and its best practices.
func (p *shopper) accessible(name string) {
	p.t.Helper()
	text, err := axe()
	if err != nil {
		p.t.Fatal(err)
	}
	there, err := eval[bool](p, "Boolean(window.axe)")
	if err == nil && !there {
		_, err = eval[bool](p, text+"\n;true")
	}
	if err != nil {
		p.t.Fatalf("axe: %v", err)
	}
	result, err := eval[struct {
		Passes     int      `json:"passes"`
		Violations []string `json:"violations"`
	}](p, `axe.run(document, {
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"],
	}).then(({ passes, violations }) => ({ passes: passes.length, violations: violations.flatMap((v) =>
		v.nodes.map((n) => v.id + ": " + n.html + " " + n.failureSummary)) }))`)
	switch {
	case err != nil:
		p.t.Fatalf("%s: axe: %v", name, err)
	case result.Passes < 15:
		p.t.Errorf("%s: axe passed only %d rules; did it see the page?", name, result.Passes)
	}
	for _, violation := range result.Violations {
		p.t.Errorf("%s: axe: %s", name, violation)
	}
}

// look judges a state by axe in both themes and keeps its pictures, on a desktop and a phone.
func (p *shopper) look(name string) {
	p.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		send(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		suffix := map[string]string{"light": "", "dark": "-dark"}[theme]
		p.accessible(name + " in " + theme)
		p.shoot(name + suffix)
		p.resize(true)
		p.fits(name)
		p.shoot(name + "-phone" + suffix)
		p.resize(false)
	}
}

func (p *shopper) resize(phone bool) {
	p.t.Helper()
	size := emulation.SetDeviceMetricsOverrideParams{Width: 1280, Height: 900, DeviceScaleFactor: 1}
	if phone {
		size = emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 1, Mobile: true}
	}
	send(p, emulation.SetDeviceMetricsOverride, size)
}

// fits checks that nothing has to be scrolled sideways.
func (p *shopper) fits(name string) {
	p.t.Helper()
	over, err := eval[int](p, "document.documentElement.scrollWidth - innerWidth")
	if err != nil || over > 0 {
		p.t.Errorf("%s: the page is %d px wider than a phone (%v)", name, over, err)
	}
}

func (p *shopper) shoot(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatalf("picture of %s: %v", name, err)
	}
	shots := filepath.Join("..", "..", "build", "screenshots")
	if err := os.MkdirAll(shots, 0o750); err != nil {
		p.t.Fatal(err)
	}
	if !strings.HasPrefix(name, "operator") {
		name = "page-" + name
	}
	if err := os.WriteFile(filepath.Join(shots, name+".png"), picture, 0o600); err != nil {
		p.t.Fatal(err)
	}
}
