package drill

// Off is tested because it knows how a time is kept.
var Off = off
