package orderlog

// ScanBatch and DecodeBatch are the fast and the full decoder of ParseBatch.
var (
	ScanBatch   = scanBatch
	DecodeBatch = decodeBatch
)
