// Package e2e proves the promise from outside: its tests build the development
// server, run it as a process of its own on real Redis, Kafka and PostgreSQL, and
// meet it as shoppers and operators do, through HTTP.
//
// It promises that no test sees another's sales, whoever else uses the same
// servers: each server process has its own database, topics, consumer group and
// numbered Redis database.
package e2e
