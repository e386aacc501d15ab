//go:build !race

package purchase_test

const raceDetector = false
