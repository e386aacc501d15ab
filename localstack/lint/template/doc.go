// Package template tests what template.yaml says twice: what it says again of the code, and what
// the documents say of it.
//
// It promises that the two cannot drift apart: the rights in Redis are those that the scripts
// need and no more keys, the page's headers are the page's own, the settings are known to the
// functions, and every alarm has a line that tells the operator what to do.
package template
