// Command canary is as vulnerable as its go.mod says, by GO-2021-0113. It shows that the
// check can fail; nothing is made of it.
package main

import "golang.org/x/text/language"

func main() { _, _ = language.Parse("") }
