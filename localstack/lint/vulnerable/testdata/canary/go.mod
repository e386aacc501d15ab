module canary

go 1.21

require golang.org/x/text v0.3.5
