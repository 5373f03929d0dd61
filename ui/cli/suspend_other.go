//go:build !unix

package cli

// Suspendable is open: nothing stops a process here.
func Suspendable(open OpenFunc) OpenFunc { return open }
