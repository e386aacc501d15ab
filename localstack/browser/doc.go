// Package browser proves the page as shoppers meet it: its tests drive real Chromium against
// the development server.
//
// It promises that what the page does is done by the real system behind it; only faults that
// cannot be caused from outside are put into single answers on their way. Every state is
// looked at by axe in both themes and kept as pictures in build/screenshots. Without Chromium
// the tests are skipped, or fail with REQUIRE_SERVERS=1; install.sh brings it.
package browser
