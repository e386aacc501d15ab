package main

// Status and Judged are tested because a promise that breaks must not pass for a good run.
var (
	Status = status
	Judged = judged
	Run    = run
)
