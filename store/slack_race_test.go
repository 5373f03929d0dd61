//go:build race

package store

// slack is how much slower things may be under the race detector.
const slack = 20
