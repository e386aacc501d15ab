// Package lua holds the scripts that Redis runs, one file and one verb each.
//
// It promises that each script is one atomic step, touches only the keys it is
// given, all of one shard, and makes nothing where the shard's load marker is
// missing. The header of a file is its contract; package stock is its only caller.
package lua

import _ "embed" // for the scripts

// The scripts' texts. Each one's header tells its keys, arguments and outcomes.
var (
	//go:embed reserve.lua
	Reserve string
	//go:embed claim.lua
	Claim string
	//go:embed confirm.lua
	Confirm string
	//go:embed release.lua
	Release string
	//go:embed due.lua
	Due string
	//go:embed unconfirm.lua
	Unconfirm string
	//go:embed quota.lua
	Quota string
	//go:embed steer.lua
	Steer string
	//go:embed check.lua
	Check string
	//go:embed repair.lua
	Repair string
	//go:embed winners.lua
	Winners string
	//go:embed fill.lua
	Fill string
)
