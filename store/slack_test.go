//go:build !race

package store

// slack is how much slower than promised things may be.
const slack = 1
