//go:build !unix

package runtime

import (
	"errors"
	"os"
)

// signalSelf kills this process; there is no stopping here.
func signalSelf(kind string) error {
	if kind == "stop" {
		return errors.ErrUnsupported
	}
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return p.Kill()
}
