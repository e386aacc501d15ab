-- Redis runs Lua 5.1 and gives a script these names. Anything else global is a mistake.
std = "lua51"
read_globals = { "KEYS", "ARGV", "redis", "cjson", "cmsgpack", "bit", "struct" }
