package runtime_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Goroutines end.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
